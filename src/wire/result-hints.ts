import { uncurry } from "./uncurry.ts";

/**
 * What a guest may report about a result that is probably not what the author of the code meant. `envelope` and `comments` are of
 * the code: the text is JSON with the member `code`, or has nothing but comments. `lambda` is an answer as AWS Lambda expects it.
 * `number` is NaN or infinite, and `date` an invalid date. `promiseText` and `objectText` are texts into which a promise or an object was
 * converted, and `jsonText` is JSON as a text. `arrow`, `forEach`, `environment`, `secret`, `stdin` and `member` are of code with an empty
 * result: an arrow function that returns nothing, a callback of forEach that nothing awaits, a variable of the environment, a secret, the
 * standard input, and a member that its value does not have. `contextMember` is a member that a context does not have, and `textBody` a
 * member of a body that is a text. `unawaited` is a member of a promise that nothing awaits, `printed` a result that is in the log, and `responseText` a Response with the text of an
 * object. `forEachValue` is the value of forEach, and `assigned` a context that was
 * given an answer as a member. `declared` is code that ends with a declaration, `mapped` a list of which all items are undefined,
 * `emitter` an emitter of events, such as a socket or a stream of Node, and `undefinedText` a text with a value that is undefined.
 * `braces` is an arrow function whose body looks like an object, and `loneReturn` a `return` whose value begins in the next line. `absent` is a
 * value that the code reads from the environment or the context, and that the run does not have. `noReturn` is a function without a
 * `return` of a value, and `noReturnPath` one that returns a value in some cases only. `lateCallback` is a result that was sent before a
 * callback of the code filled it, `usedPromise` a promise that is used like a value, `responseMember` a member that no Response has, and
 * `lostLines` code whose line breaks are lost, so that a comment hides its end. `asyncCallback` is a method of lists that does not await its
 * callback, `mappedAsync` one that is given the promises of map, and `truthyPromise` a condition that is a promise. `misspelt` is a member
 * whose name is a misspelling of another one. `printedModule` and `unreturnedModule` are modules that export nothing, and end with a call of
 * console or with a value. `noValue` is a function of the code that returns nothing, and whose call is the result. `digits` is a text of two
 * numbers of the query, and `uncalled` a method of a Response that is awaited and not called. `callbackCall` is a function of Node that gives its result to a
 * callback, `mainModule` a call that only a main module makes, `unreturnedCall` a call above its function whose value nothing returns, `argv`
 * the arguments of a command line, `printedThen` a chain of promises whose last function only prints, `envelopeMember` an envelope as code,
 * with a member that no envelope has, and `interval` an interval that nothing waits for and nothing ends. `htmlText` is a page as a text, `quotedCode` code in quotes,
 * `contextValue` the context that is used like a text or a number, `thisMember` a member of `this`, `yaml` an
 * envelope that is written as YAML, and `uncalledMain` the function of a program that nothing calls. `unawaitedCall` is a member of the promise
 * that a call returned, `forEachReturn` a `return` in the function of forEach, `collectionMember` a member that no Map and no Set has,
 * `quotedTemplate` a text in quotes with an expression that only a template reads, `formBody` a member of a form with parts, and `unrouted` the
 * answer 404 of a router that does not expect the whole path. The others are values of which JSON keeps nothing.
 */
export const RESULT_HINTS = [
  "envelope",
  "comments",
  "lambda",
  "number",
  "promise",
  "map",
  "set",
  "iterator",
  "error",
  "pattern",
  "response",
  "headers",
  "function",
  "instance",
  "arrow",
  "forEach",
  "environment",
  "date",
  "promiseText",
  "objectText",
  "jsonText",
  "secret",
  "stdin",
  "member",
  "contextMember",
  "textBody",
  "unawaited",
  "printed",
  "responseText",
  "forEachValue",
  "assigned",
  "declared",
  "mapped",
  "emitter",
  "undefinedText",
  "braces",
  "loneReturn",
  "absent",
  "noReturn",
  "noReturnPath",
  "lateCallback",
  "usedPromise",
  "responseMember",
  "lostLines",
  "asyncCallback",
  "misspelt",
  "printedModule",
  "unreturnedModule",
  "noValue",
  "mappedAsync",
  "truthyPromise",
  "digits",
  "uncalled",
  "callbackCall",
  "mainModule",
  "unreturnedCall",
  "argv",
  "printedThen",
  "envelopeMember",
  "interval",
  "htmlText",
  "quotedCode",
  "contextValue",
  "thisMember",
  "yaml",
  "uncalledMain",
  "unawaitedCall",
  "forEachReturn",
  "collectionMember",
  "quotedTemplate",
  "formBody",
  "unrouted",
] as const;
export type ResultHint = (typeof RESULT_HINTS)[number];

/** The path of a value in a result, as JavaScript writes it: `.users[0]`. Empty for the result itself. */
const PATH = /^(?:\.[A-Za-z_$][\w$]{0,63}|\[\d{1,9}\]){0,8}$/;

// Saved now, because a task may replace them.
const indexOf = RESULT_HINTS.indexOf.bind(RESULT_HINTS);
const matches = uncurry(RegExp.prototype, "exec");
const from = Buffer.from.bind(Buffer) as (text: string) => Buffer;

/** Returns the payload of a `resultHint` frame. */
export function encodeResultHint(hint: ResultHint, path: string): Buffer {
  const payload = from(`.${path}`);
  payload[0] = indexOf(hint);
  return payload;
}

/** Reads the payload of a `resultHint` frame, which is hostile. @returns null if it is none */
export function decodeResultHint(payload: Buffer): { readonly hint: ResultHint; readonly path: string } | null {
  const hint = RESULT_HINTS[payload[0] ?? RESULT_HINTS.length];
  const path = payload.toString("latin1", 1);
  return hint === undefined || !isPath(path) ? null : { hint, path };
}

/** Whether a path has only short names and few steps. */
export function isPath(path: string): boolean {
  return path.length <= 512 && matches(PATH, path) !== null;
}
