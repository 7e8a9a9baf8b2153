/** Packages that a task does not need, or that cannot work in it, and what to write instead. */
const REPLACED: readonly { readonly names: RegExp; readonly hint: string }[] = [
  {
    names: /^(?:node-fetch|cross-fetch|isomorphic-fetch|whatwg-fetch|undici)$/,
    hint: "fetch, Request, Response and FormData are there without an import: remove the line.",
  },
  {
    names: /^(?:express|koa|fastify|restify|connect|@hapi\/hapi|polka)$/,
    hint: 'No client can connect to a task, so a server is not needed: export default { fetch(request) { return new Response("hi") } }, or a function (context) that returns the result.',
  },
  {
    names: /^(?:dotenv|dotenv\/config|dotenv-safe)$/,
    hint: "A task has no file .env: a task or a token sets params and secrets, and the code reads context.params and context.secrets.",
  },
  {
    names: /^(?:readline-sync|prompt-sync|prompts|inquirer)$/,
    hint: "A task has no stdin: its input comes with the request, in context.body.",
  },
  {
    names: /^next\/server(?:\.js)?$/,
    hint: "A task is no part of an application of Next.js. Response and Request are there without an import: write Response.json(value) instead of NextResponse.json(value).",
  },
  {
    names: /^(?:node-cron|cron|node-schedule)$/,
    hint: "The service has no schedule: export a function, and let cron call /api/run/{container}/{name}.",
  },
];

/** Returns what to write instead of the import of a package, or undefined. */
export function replacedHint(specifier: string): string | undefined {
  return REPLACED.find(({ names }) => names.test(specifier))?.hint;
}

/** Returns what to write instead of a module of Bun, of Cloudflare, of JSR or of Deno's standard library, or undefined. */
export function ofOtherRuntime(specifier: string): string | undefined {
  if (/^bun(?::|$)/.test(specifier))
    return "The code runs in Node, which has no module of Bun: use the node: modules, such as node:fs and node:crypto.";
  if (specifier.startsWith("cloudflare:"))
    return "The code runs in Node, which has no module of Cloudflare, and a bundler has none either. A fetch handler has the params and the secrets as env: fetch(request, env, ctx). A task has no other bindings.";
  if (/^https?:\/\/deno\.land\/std[@/]/.test(specifier) || /^jsr:@std\/http\b/.test(specifier))
    return "The code runs in Node, without the library of Deno: use the node: modules, such as node:path and node:assert, and export default { fetch(request) { ... } } for a server.";
  const name = /^jsr:\/?(@[\w-]{1,40}\/[\w-]{1,60})/.exec(specifier)?.[1];
  if (!specifier.startsWith("jsr:")) return undefined;
  const add = name === undefined ? "the package" : name;
  return `A jsr: import does not work here. In a folder of yours, run npx jsr add ${add}, write the name without jsr:, and run caisson run --bundle task.ts. Or use a package of npm, as npm:name, or a module of Node.`;
}
