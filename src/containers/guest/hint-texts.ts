import { absentText, elsewhereText, isAbsentSource } from "../../wire/absent-text.ts";
import { TASK_MEMBERS } from "../../wire/envelope-names.ts";
import { formBodyText } from "../../wire/form-text.ts";
import { quotedText } from "../../wire/quoted-text.ts";
import type { ResultHint } from "../../wire/result-hints.ts";
import { isOfBody, unawaitedBodyText, usedPromiseText } from "../../wire/unawaited-text.ts";

/** Returns the hint for code that returned nothing, although its last statement has a value. */
export function unreturnedHint(line: number): string {
  return `The code returned nothing: put return before its last statement, in line ${line}.`;
}

/** Returns the hint for a result that is probably not what the author meant. @param path of the value in the result */
export function resultHint(hint: ResultHint, path: string): string {
  if (hint === "number" || hint === "date" || hint === "mapped") return inNull(hint, path);
  if (hint === "emitter") return emitterHint(path);
  if (isOfNames(hint)) return OF_NAMES[hint](path.slice(1).split("."));
  if (isOther(hint)) return OTHER[hint];
  const { what, fix } = EMPTIED[hint];
  const where = path === "" ? "The result has" : `result${path} is`;
  const effect = hint === "function" ? "which JSON leaves out" : "of which JSON keeps nothing";
  return `${where} ${what}, ${effect}: ${fix}.`;
}

/** Returns the hint for a value that JSON writes as null. */
function inNull(hint: "number" | "date" | "mapped", path: string): string {
  const subject = path === "" ? "The result" : `result${path}`;
  if (hint === "mapped")
    return `${subject} is a list of undefined, which is null in JSON: the function that makes its items, for example that of map, returns nothing. Put return between its braces.`;
  return hint === "number"
    ? `${subject} is NaN or infinite. JSON has no such number, so it is null.`
    : `${subject} is an invalid date, which is null in JSON: check the text that the date was made from.`;
}

function emitterHint(path: string): string {
  const subject = path === "" ? "The result" : `result${path}`;
  return `${subject} is a stream, a socket or another emitter of events, whose internals are no result: await its event, and return what it has. Readable.toWeb(stream) of node:stream can be returned.`;
}

/** Hints about a member that is undefined, made from the names in their paths. */
const OF_NAMES = {
  member: ([name, near]: readonly string[]) => {
    const fix = near === undefined ? "check its name." : `did you mean ${near}?`;
    return `The result is undefined, which is null in JSON. Perhaps the value has no member ${name}: ${fix}`;
  },
  contextMember: ([name = ""]: readonly string[]) => {
    const fact = `A context has no member ${name}, so the result is undefined, which is null in JSON`;
    if (/^(?:env|environment|config|vars|settings)$/.test(name))
      return `${fact}: use context.params and context.secrets.`;
    if (/^(?:input|inputs|payload|event|args|arguments|request|req|variables|json)$/.test(name))
      return `${fact}: context.body is the parsed body, and context.data has its members and the query.`;
    return `${fact}: context.data.${name} reads it from the query or from the body, and context.query.${name} from the query.`;
  },
  contextValue: ([name = ""]: readonly string[]) =>
    `The value of ${name} is the context, which is an object: write ${name}.query.name or ${name}.data.name for the value that the request calls name.`,
  thisMember: ([name = ""]: readonly string[]) =>
    `this has nothing of the request: write context.query.${name} or context.data.${name}. A function has the context as its first parameter.`,
  quotedTemplate: (names: readonly string[]) => quotedText(names.join(".")),
  textBody: ([part, name]: readonly string[]) =>
    `context.body is a text, so context.${part}.${name} is undefined, which is null in JSON: send JSON with Content-Type: application/json, in an envelope as an object in data, or read JSON.parse(context.body).${name}.`,
  formBody: ([, name = ""]: readonly string[]) => formBodyText(name),
  unawaited: ([variable, member, ...calls]: readonly string[]) => {
    const call = calls.join(".");
    if (variable === call && isOfBody(call)) return unawaitedBodyText(call, member ?? "");
    return usedPromiseText(call, variable === call ? null : (variable ?? null), member ?? "");
  },
  collectionMember: ([kind = "", member = "", variable]: readonly string[]) => {
    const what = variable === undefined ? `A ${kind}` : `${variable} is a ${kind}, which`;
    const owner = variable ?? "value";
    if (/^(?:length|count)$/.test(member)) return `${what} has no ${member}: write ${owner}.size.`;
    return kind === "Map"
      ? `${what} has no member ${member}: write ${owner}.get("${member}").`
      : `${what} has no member ${member}: it has size and has(value), and [...${owner}] is a list of its values.`;
  },
  unawaitedCall: ([member = "", ...calls]: readonly string[]) => usedPromiseText(calls.join("."), null, member),
  declared: ([name = "", line = "", module]: readonly string[]) =>
    `The code returned nothing: its last statement, in line ${numberOf(line)}, declares ${name}. Put ${module === undefined ? "return" : "export default"} ${name} after it.`,
  usedPromise: (calls: readonly string[]) => usedPromiseText(calls.join("."), null, null),
  responseMember: ([member, variable]: readonly string[]) =>
    variable === undefined
      ? `A Response has no ${member}: write const data = await (await fetch(url)).json(), and read data.${member}.`
      : member === "data"
        ? `${variable} is a Response, which has no data: write const data = await ${variable}.json().`
        : `${variable} is a Response, which has no ${member}: write const data = await ${variable}.json(), and read data.${member}.`,
  asyncCallback: ([method = ""]: readonly string[]) =>
    /sort/i.test(method)
      ? `${method} does not wait for an async function, so the order does not change: await the values first, with await Promise.all(list.map(...)), and compare them in a function without async.`
      : `${method} does not wait for an async function, and its promise counts as true: write const kept = await Promise.all(list.map(callback)), and then list.${method}((item, index) => kept[index]).`,
  absent: ([source = "", name = "", part, meant]: readonly string[]) => {
    const of = isAbsentSource(source) ? source : "params";
    return part === undefined || meant === undefined
      ? absentText(of, of === "headers" ? name.replaceAll("$", "-") : name)
      : elsewhereText(of, name, part, meant);
  },
  mappedAsync: ([method = ""]: readonly string[]) =>
    `map with an async function returns promises, and ${method} does not wait for them: write (await Promise.all(list.map(...))).${method}(...).`,
  truthyPromise: (names: readonly string[]) => {
    const name = names.join(".");
    return `${name}(...) returns a promise, which always counts as true: write await ${name}(...) in the condition.`;
  },
  misspelt: ([name = "", meant = ""]: readonly string[]) =>
    `The code reads the member ${name}, and nothing in it sets that member: did you mean ${meant}?`,
  printedModule: ([line = ""]: readonly string[]) =>
    `The module exports nothing, so the result is null, and console writes to the log of the run only: put export default with the value after line ${numberOf(line)}.`,
  unreturnedModule: ([line = ""]: readonly string[]) =>
    `The module exports nothing, so the result is null: put export default before its last statement, in line ${numberOf(line)}.`,
  noValue: ([name = "", line]: readonly string[]) =>
    `${name}() returns nothing, so its value is missing in the result: put return with the value at the end of ${name}${line === undefined ? "" : `, and return before ${name}(), in line ${numberOf(line)}`}.`,
  uncalled: ([name = ""]: readonly string[]) => `${name} is a function of the Response: write ${name}().`,
  callbackCall: ([owner = "", method = ""]: readonly string[]) => {
    const other = owner === "fs" ? `await ${method} of node:fs/promises` : "await fetch(url)";
    return `${owner}.${method} gives its result to a callback, so the code returned nothing: ${other}, or await new Promise((resolve) => ...), and call resolve(value) in the callback.`;
  },
  mainModule: ([name = "", line = ""]: readonly string[]) =>
    `A task is no main module, so line ${numberOf(line)} does not call ${name}: write return ${name}() instead.`,
  unreturnedCall: ([name = "", line = ""]: readonly string[]) =>
    `The code returned nothing, because nothing returns the value of ${name}(): put return before ${name}(), in line ${numberOf(line)}.`,
  uncalledMain: ([name = "", module]: readonly string[]) =>
    module === undefined
      ? `The code returned nothing, because nothing calls ${name}(): put return ${name}() at its end.`
      : `The module exports nothing, so the result is null: put export default ${name} at its end.`,
  digits: ([first = "", second = ""]: readonly string[]) =>
    `The values of a query are texts, so + joins them: write Number(context.query.${first}) + Number(context.query.${second}).`,
  printedThen: ([line]: readonly string[]) => {
    const fact = "The last function in then prints its value and returns nothing";
    return line === undefined || line === ""
      ? `${fact}, so the result is null: return the value in it instead.`
      : `${fact}: put return before the statement in line ${numberOf(line)}, and return the value in that function instead.`;
  },
  interval: () =>
    "The result ends the run, and the interval continues only until the guest ends. For regular work, call the service at those times, for example from cron; for some ticks, await a promise that the last one resolves.",
  envelopeMember: ([name = "", meant]: readonly string[]) => {
    const fix = meant === undefined ? `: ${withoutMember(name)}` : `: did you mean ${meant}?`;
    return `The code is JSON like an envelope, so its result is that object: send it with Content-Type: application/json. An envelope has no member ${name}${fix}`;
  },
  printed: ([line = ""]: readonly string[]) =>
    `The code returned nothing, and console writes to the log of the run only: put return with the value after line ${numberOf(line)}.`,
} as const;

/** Returns what to do about a member that no envelope has. */
function withoutMember(name: string): string {
  if (/^(?:query|timeout|file|maxResult)$/.test(name)) return "POST /api/runs/{container} takes it.";
  return TASK_MEMBERS.includes(name)
    ? "a task or a token sets it, in PUT /api/tasks/{container}/{name} or POST /api/tokens."
    : "leave it out. Code may be JavaScript or TypeScript, for the Node of the service.";
}

/** Returns the number in a step of a path: a guest may send any text. */
function numberOf(step: string): string {
  return step.replace(/\D/g, "");
}

function isOfNames(hint: ResultHint): hint is keyof typeof OF_NAMES {
  return hint in OF_NAMES;
}

function isOther(hint: ResultHint): hint is keyof typeof OTHER {
  return hint in OTHER;
}

const OTHER = {
  envelope:
    "The code is an envelope with the member code, so its result is that object: send it with Content-Type: application/json.",
  comments:
    "The code has only comments. curl sends a file with its line breaks with --data-binary @task.js, and not with --data.",
  unrouted:
    'The code sees the whole path of its request, such as /api/run/demo/hello, and none of its routes has it: write new Hono().basePath("/api/run/demo/hello").',
  lambda:
    "The result is sent as JSON. To set the status and the headers, return new Response(body, { status, headers }).",
  htmlText:
    'The result is a page, and is sent as JSON: return new Response(html, { headers: { "content-type": "text/html; charset=utf-8" } }).',
  quotedCode:
    'The code is a text in quotes, so its result is that text: send the code without the quotes, or send {"code": "..."} with Content-Type: application/json.',
  yaml: 'The code begins with the label code, as an envelope in YAML does, and a label gives no result: send the code itself, or send {"code": "..."} with Content-Type: application/json.',
  arrow: "The function returned nothing: between the braces of an arrow function, put return before its last value.",
  forEach:
    "forEach does not wait for an async function: use for (const item of list) { await ... }, or await Promise.all(list.map(...)).",
  lostLines:
    "The text has one line only, so its comment hides what follows: send it with --data-binary @task.js, which keeps the line breaks. The two characters \\n are no line break.",
  noReturn: "The function returned nothing, so the result is null: put return before the value that is the result.",
  noReturnPath:
    "The code returned nothing this time, so the result is null: it returns a value in other cases only. Put a return with a value at its end, too.",
  lateCallback:
    "The result was sent before a callback of the code ran: put await before the promise. For a timer or another callback, await new Promise((resolve) => ...), and call resolve(value) in the callback.",
  environment: "process.env has no variables of yours: use context.params and context.secrets of a task or a token.",
  promiseText:
    "The result has the text [object Promise]: await the promise before you add it to a text. For a list of promises, await Promise.all(list).",
  objectText:
    "The result has the text of an object, such as [object Object]: add JSON.stringify(value) to a text instead of the value.",
  responseText:
    "The Response has the text of an object, such as [object Map]: Response.json(value) sends JSON; for a Map, give it Object.fromEntries(map).",
  jsonText: "The result is a text of JSON, and is sent as a text: return the value, without JSON.stringify.",
  secret:
    "The code reads context.secrets, and its result is null. A task or a token sets secrets, in PUT /api/tasks/{container}/{name} or POST /api/tokens.",
  forEachReturn:
    "A return in the function of forEach ends that function only, and forEach returns nothing: write for (const item of list) { ... }, or return list.find(...), list.filter(...) or list.map(...).",
  forEachValue: "forEach returns nothing: map returns a list of what its function returns.",
  assigned:
    "The context is not the answer: return the value, or return new Response(body, { status, headers }) for a status and headers.",
  undefinedText:
    'The result is a text with undefined in it: a value that the code put into the text is not there. Test it first, or write value ?? "".',
  braces:
    "The function returned nothing: the braces after => are its body. To return an object, put it in parentheses: (context) => ({ a: 1 }).",
  loneReturn:
    "A line ends after return, so the function returns nothing. Begin the value, or its opening bracket, in the line of return.",
  argv: "A task has no arguments of a command line in process.argv: its input comes with the request, in context.query and context.body.",
  stdin: "A task has no stdin: its input comes with the request, in context.body.",
} as const;

const EMPTIED: Readonly<
  Record<
    Exclude<ResultHint, keyof typeof OTHER | keyof typeof OF_NAMES | "number" | "date" | "mapped" | "emitter">,
    { what: string; fix: string }
  >
> = {
  promise: { what: "a promise", fix: "await it first; for a list, return await Promise.all(list)" },
  map: { what: "a Map", fix: "return Object.fromEntries(map) or [...map]" },
  set: { what: "a Set", fix: "return [...set]" },
  iterator: { what: "an iterator", fix: "return [...iterator]" },
  error: { what: "an error", fix: "return its message, or throw the error" },
  pattern: { what: "a regular expression", fix: "return String(pattern)" },
  response: { what: "a Request or a Response", fix: "return await response.json() of it, or the Response alone" },
  headers: { what: "a list of headers or parameters", fix: "return Object.fromEntries(list)" },
  function: { what: "a function", fix: "call it, and return its result" },
  instance: { what: "an instance of a class without public fields", fix: "return the values, or add a method toJSON" },
};
