import type { ErrorMessage } from "../wire/messages.ts";

/** For whatever only a bundler can turn into JavaScript of one file: TypeScript that makes code, JSX, packages. */
export const BUNDLE_HINT =
  "Bundle it first: `caisson run --bundle task.ts` does, or send what `npx esbuild task.ts --bundle --platform=node` prints.";

/** What a caller can do about errors that come of where a code was written for. */
const HINTS: readonly { pattern: RegExp; hint: string }[] = [
  {
    pattern: /^addEventListener is not defined/,
    hint: 'Answer with `export default { fetch(request) { return new Response("hi") } }` in place of a listener.',
  },
  {
    pattern: /^(?:document|window|alert|prompt|localStorage|sessionStorage|XMLHttpRequest|\$) is not defined/,
    hint: "There is no page here: the code runs in Node, which has fetch, URL and its own modules.",
  },
  {
    pattern: /^(?:Deno|Bun) is not defined/,
    hint: "The code runs in Node: use what node: modules offer, and for a server `export default { fetch(request) { ... } }`.",
  },
  { pattern: /^\[object Response\]$/, hint: "Return the Response in place of throwing it." },
  { pattern: /^print is not defined/, hint: "Return the result, or use console.log for the log." },
  { pattern: /^(?:context|ctx)\.log is not a function/, hint: "Use console.log." },
  {
    pattern: /^(?:module|exports) is not defined in ES module scope/,
    hint: "Use `export default`, because the code has an import or an export.",
  },
  {
    pattern: /^there is no module "\.\.?\//,
    hint: 'Send it with the code: {"code": "...", "modules": {"./name.js": "..."}}.',
  },
  { pattern: /^there is no module "/, hint: BUNDLE_HINT },
];

/** In one sentence what helps with an error, where there is something to say. Never throws. */
export function hintOf(error: ErrorMessage): string | undefined {
  const { message, cause, errors } = error;
  // Of a fetch that failed it is all that helps.
  if (cause) return `The cause: ${cause.message}`;
  if (errors) return `The first of its causes: ${errors[0]!.message}`;
  if (error["code"] === "EPERM" && message.startsWith("spawn")) {
    return "node:child_process and node:cluster have no meaning here: a task cannot start processes.";
  }
  for (let index = 0; index < HINTS.length; index += 1) {
    if (HINTS[index]!.pattern.test(message)) return HINTS[index]!.hint;
  }
  return undefined;
}
