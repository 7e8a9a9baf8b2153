import type { ErrorMessage } from "../wire/messages.ts";
import { NO_STDIN } from "./stdin-hints.ts";
import { type ErrorHint, OF_VALUES } from "./value-hints.ts";

/** The hint for code that needs a bundler: TypeScript that generates code, JSX, packages. */
export const BUNDLE_HINT =
  "Bundle the code first: use `caisson run --bundle task.ts`, or send the output of `npx esbuild task.ts --bundle --platform=node --target=node24`.";

/** Hints for errors of code that was written for another runtime. */
const HINTS: readonly ErrorHint[] = [
  {
    pattern: /^addEventListener is not defined/,
    hint: 'Use `export default { fetch(request) { return new Response("hi") } }` instead of a listener.',
  },
  {
    pattern: /^(?:localStorage|sessionStorage|indexedDB|caches) is not defined/,
    hint: "There is no storage of a browser: return what the next run needs, or keep it in an external service with fetch.",
  },
  {
    pattern:
      /^(?:document|window|self|location|history|alert|confirm|XMLHttpRequest|Image|Audio|FileReader|DOMParser|HTMLElement|requestAnimationFrame|jQuery|\$) is not defined/,
    hint: "There is no page here: the code runs in Node, which has fetch, URL and the node: modules.",
  },
  { pattern: /^prompt is not defined/, hint: NO_STDIN },
  {
    pattern: /^(?:Deno|Bun) is not defined/,
    hint: "The code runs in Node: use the node: modules, and `export default { fetch(request) { ... } }` for a server.",
  },
  {
    pattern:
      /npm install --include=optional |^Could not locate the bindings file|^No native build was found|^Cannot find native binding|npm has a bug related to optional dependencies/,
    hint: "The package has native code, which does not run here: use a package that is JavaScript or WebAssembly.",
  },
  { pattern: /^\[object Response\]$/, hint: "Return the Response instead of throwing it." },
  {
    pattern:
      /^(?:contex|contxt|conext|ctxt|ctx|\$?(?:req|request|event|query|params|args|inputs?|payload|data|body)|\$json|\$node|\$vars) is not defined/,
    hint: "Code that is not a function has `context`: context.query, context.body, context.data, context.headers.",
  },
  {
    pattern: /^(?:cb|callback|done) is not defined/,
    hint: "Return the result: return value. Only a function receives a callback, as its second parameter: module.exports = (context, cb) => cb(null, value).",
  },
  {
    pattern: /^(?:context|ctx|event)\.(?:done|succeed|fail|callback) is not a function/,
    hint: "The context has no callback: return the result, and throw an error.",
  },
  {
    pattern: /^(?:context|ctx|event)\.(?:json|text|formData|arrayBuffer|blob) is not a function/,
    hint: "The context is no Request: context.body is the parsed body, and context.data has its members and the query.",
  },
  {
    pattern:
      /^crypto\.(?:create\w+|random(?:Bytes|Int)|pbkdf2\w*|scrypt\w*|timingSafeEqual|getHashes|hash|(?:public|private)\w+) is not a function/,
    hint: 'The global crypto is Web Crypto: write const crypto = require("node:crypto"), or import crypto from "node:crypto" in an ES module.',
  },
  {
    pattern: /^fetch\(\.\.\.\)\.\w+ is not a function/,
    hint: "fetch returns a promise: write (await fetch(url)) in front of the dot, as in await (await fetch(url)).json().",
  },
  {
    pattern: /^(?:context|ctx)\.(?:body|query|data|headers|params|secrets|url|method) is not a function/,
    hint: "The members of the context are values, and no functions: leave () out.",
  },
  {
    pattern: /^(?:app|router|server|express) is not defined/,
    hint: 'The code serves no port: use `export default { fetch(request) { return new Response("hi") } }`.',
  },
  {
    pattern: /^(?:env|secrets) is not defined/,
    hint: "Use context.params and context.secrets. A fetch handler receives both: fetch(request, env, ctx).",
  },
  {
    pattern: /^(?:True|False|None|len|range|enumerate|elif) is not defined/,
    hint: "The text looks like Python. Only JavaScript and TypeScript run here, with true, false, null and list.length.",
  },
  {
    pattern: /^Failed to parse URL from |^Invalid URL$/,
    hint: "Give the full URL, such as https://example.com/api/users: a task has no page to which a path could be relative.",
  },
  {
    pattern: /^(?:res|response) is not defined/,
    hint: "The result of the code is its answer: return the value, or return new Response(body, { status, headers }).",
  },
  { pattern: /^(?:not|NOT) is not defined/, hint: "JavaScript has no not: write !." },
  {
    pattern: /^an event of the type error without a message$/,
    hint: "A WebSocket that cannot connect names no reason. A fetch of the same host names it: await fetch(url), with https:// instead of wss://, or http:// instead of ws://.",
  },
  { pattern: /^sleep is not defined/, hint: "Use await new Promise((resolve) => setTimeout(resolve, ms))." },
  { pattern: /^Worker is not defined/, hint: 'Use `import { Worker } from "node:worker_threads"`.' },
  ...OF_VALUES,
  { pattern: /^Assignment to constant variable/, hint: "Declare the variable with let instead of const." },
  {
    pattern: /^Maximum call stack size exceeded/,
    hint: "A function calls itself without end: return from it before the next call, at some depth.",
  },
  {
    pattern: /\.items is not a function\b/,
    hint: "JavaScript has no items: Object.entries(value) has the names and the values of an object.",
  },
  {
    pattern: /\.(?:entries|keys|values) is not a function\b/,
    hint: "An object has no such function: write Object.keys(value), Object.values(value) or Object.entries(value).",
  },
  {
    pattern:
      /^The "(?:data|chunk)" argument must be of type string or an instance of Buffer.{0,60} Received an instance of (?:Object|Array)$/,
    hint: "The function takes a text or bytes. context.body is parsed JSON; a fetch handler reads the text as it was sent, which a signature needs: await request.text().",
  },
  {
    pattern: /^The "cb" argument must be of type function/,
    hint: "The function calls back and returns no promise: import it from node:fs/promises and await it, or use the function whose name ends with Sync.",
  },
  {
    pattern: /^The "callback" argument must be of type function\. Received type number/,
    hint: "A timer takes a function first. To wait, write await new Promise((resolve) => setTimeout(resolve, ms)).",
  },
  {
    pattern: /^["'`].{0,16}["'`]\.join is not a function$/,
    hint: 'join is a function of the list, and not of the text between its items: write list.join(",").',
  },
  {
    pattern:
      /^undefined is not iterable\b|is not iterable \(cannot read property (?:undefined|null)\)$|^Cannot convert undefined or null to object$/,
    hint: "The value is not there: test it first, or write value ?? [] for a list, and value ?? {} for an object.",
  },
  {
    pattern: / is not iterable(?: \(cannot read property Symbol\(Symbol\.iterator\)\))?$|^Spread syntax requires /,
    hint: "for ... of, spread and destructuring take a list, and the value is none. Perhaps it is undefined; for the members of an object, use Object.entries(object).",
  },
  {
    pattern: /^Cannot find module '\/tmp\//,
    hint: "A task has no files: new Worker(code, { eval: true }) takes the code of a worker as text.",
  },
  {
    pattern:
      /^Illegal invocation$|^Value of "this" must be of type |^The "id" argument must be of type string\. Received an instance of Object$/,
    hint: "A function was called without its object, or with the context. If the code returns a function, the service calls it: return its result instead.",
  },
  {
    pattern: /^React is not defined/,
    hint: 'JSX needs functions: add "packages": {"react": "*"}, or another package with them, or name a function: /** @jsx h */.',
  },
  {
    pattern: /^(?:print|println|printf|puts|echo|Console|System|fmt) is not defined/,
    hint: "Return the result, or use console.log for the log.",
  },
  { pattern: /^(?:context|ctx)\.log is not a function/, hint: "Use console.log." },
  {
    pattern: /^context is not defined/,
    hint: "An ES module receives the context as a parameter: `export default (context) => ...`.",
  },
  {
    pattern: /^(?:module|exports) is not defined in ES module scope/,
    hint: "Use `export default`, because the code has an import or an export.",
  },
  {
    pattern: /^Unexpected end of JSON input$/,
    hint: "The parsed text is empty, or its end is missing. A request without a body has no JSON; for an answer of fetch, await response.text() shows its text.",
  },
  {
    pattern: /^"\[object Object\]" is not valid JSON$/,
    hint: "The value is an object already, as context.body and context.data are: use it without JSON.parse.",
  },
  {
    pattern: /^"undefined" is not valid JSON$/,
    hint: "The value is undefined. A request without data has no context.body; with data, it is parsed already: leave JSON.parse out.",
  },
  {
    pattern: / is not valid JSON$|\bin JSON at position \d/,
    hint: "The parsed text is not JSON. For an answer of fetch, await response.text() shows it.",
  },
  {
    pattern: /^there is no module "\.\.?\//,
    hint: 'Send it with the code: {"code": "...", "modules": {"./name.js": "..."}}.',
  },
  {
    pattern: /^there is no module "https?:/,
    hint: 'A URL cannot be imported: import the package as "npm:name", or send the text of the URL in modules, as "./name.js".',
  },
  { pattern: /^there is no module "/, hint: BUNDLE_HINT },
  {
    pattern: /^A system error occurred: uv_os_get_passwd /,
    hint: "The user of a guest has no name: leave os.userInfo() out. os.homedir() and os.tmpdir() return the folder of the guest.",
  },
  {
    pattern: /^Node has no module "/,
    hint: "The documentation of Node lists its modules, such as node:fs and node:crypto.",
  },
];

/** The codes of OpenSSL for a certificate that no trusted authority has signed. */
const UNTRUSTED =
  /^(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT(?:_LOCALLY)?)$/;

/** Returns a hint of one sentence for an error, or undefined. Never throws. */
export function hintOf(error: ErrorMessage): string | undefined {
  const { message, cause, errors } = error;
  // For a failed fetch, only the cause helps.
  if (cause?.["code"] === "ENOTFOUND" || cause?.["code"] === "EAI_AGAIN")
    return `The cause: ${cause.message}. Check the name of the host.`;
  if (cause?.message === "unknown scheme") return "The URL begins with an unknown scheme: write https:// or http://.";
  if (cause?.["code"] === "ERR_SSL_WRONG_VERSION_NUMBER" || error["code"] === "ERR_SSL_WRONG_VERSION_NUMBER")
    return "The server does not speak TLS at this port: write http:// instead of https://, or the port of its https.";
  const untrusted = (cause ?? error)["code"];
  if (typeof untrusted === "string" && UNTRUSTED.test(untrusted))
    return `${cause ? `The cause: ${cause.message}. ` : ""}A task trusts the authorities that come with Node, and no setting adds one: give the certificate of another authority to node:https, as in https.get(url, { ca: pem }, callback).`;
  if (cause && cause.message !== "Invalid URL") return `The cause: ${cause.message}`;
  if (errors) return `The first of its causes: ${errors[0]!.message}`;
  if (error["code"] === "EPERM" && message.startsWith("spawn")) {
    return "node:child_process and node:cluster are not available here: a task cannot start processes.";
  }
  if (error["syscall"] === "watch") {
    return "Files cannot be watched here: a task lives as long as its request, and nothing else changes its files.";
  }
  if (isOfFiles(error)) {
    return "A task has no files of the machine. It may write below the folder of os.tmpdir(); data comes with the request.";
  }
  try {
    for (let index = 0; index < HINTS.length; index += 1) {
      if (HINTS[index]!.pattern.test(message)) return HINTS[index]!.hint;
    }
  } catch {
    // A task has replaced a method of patterns.
  }
  return undefined;
}

/** The calls of the kernel that name a file or a folder. */
const OF_FILES =
  /^(?:open|mkdir|mkdtemp|rmdir|scandir|opendir|l?stat|access|chdir|unlink|rename|copyfile|readlink|realpath|l?chmod|l?chown|l?utime)$/;

/** Whether a file could not be opened or written. */
function isOfFiles({ code, syscall, permission }: ErrorMessage): boolean {
  // With isolation "none", Node itself refuses.
  if (code === "ERR_ACCESS_DENIED") return permission === "FileSystemWrite" || permission === "FileSystemRead";
  const isRefused = code === "ENOENT" || code === "EACCES" || code === "EROFS";
  return isRefused && typeof syscall === "string" && OF_FILES.test(syscall);
}
