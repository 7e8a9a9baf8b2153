import { types } from "node:util";

import type { FaultMessage } from "../../wire/messages.ts";
import { uncurry } from "../../wire/uncurry.ts";
import { parameterNames } from "./parameters.ts";
import type { Submitted } from "./shape.ts";

const { isAsyncFunction } = types;
const sourceOf = uncurry(Function.prototype as { toString: () => string }, "toString");

const REQUEST_NAMES = ["req", "request"];
const RESPONSE_NAMES = ["res", "resp", "response"];

const ASYNC =
  "An async function receives only the context: return the result or a Response, or remove async. The request is in its members query, body, headers and method.";
const TWO =
  "A function of two parameters receives (context, cb) and answers with cb(error, result). A Node handler has three parameters: (context, req, res).";
const NO_RESPONSE =
  "A function of two parameters receives (context, cb), and not (req, res) of Express: return the value, or return new Response(body, { status, headers }). The request is in context.query, context.body and context.headers. A Node handler has three parameters: (context, req, res).";
/** Members of an event of AWS Lambda that a context does not have. */
const OF_EVENT =
  /\.(queryStringParameters|multiValueQueryStringParameters|pathParameters|requestContext|rawPath|httpMethod|isBase64Encoded|Records)\b/;
const ORDER = "A function of three parameters receives (context, req, res), in this order.";
const NO_CALLBACK =
  "A function of one parameter receives the context. It receives a callback if the parameter is named cb, callback, done or next.";
const ONE =
  'A function receives the context. A fetch handler receives a Request: export default { fetch(request) { return new Response("hi") } }.';
const EXPRESS =
  "An Express app does not run here, because it needs the req and res of a server. Use a Hono app with `export default app`, or a function (context, req, res).";
const EXPRESS_MEMBER =
  "res has the methods of node:http, but not the methods of Express: use res.writeHead(status, headers) and res.end(text).";
const STORAGE =
  "The storage of webtask is not available: store lasting data in an external service with fetch. Variables of a module last while the guest is warm.";

/** Matches a call of a `Response` or `Request` member that a context does not have. */
const OF_REQUEST = /\.(?:json|text|formData|arrayBuffer|blob|clone|headers\.\w+) is not a function$/;
const OF_EXPRESS =
  /\.(?:send|sendStatus|sendFile|json|status|redirect|render|type|set|cookie)(?:\(\.\.\.\)\S*)? is not a function$/;
const UNDEFINED = /^Cannot (?:read|set) properties of undefined/;

/**
 * Returns a hint for a function that threw because it was written for another calling convention. The names of its
 * parameters show the convention. Never throws.
 */
export function mistakeHint(value: object, { code, error }: FaultMessage): string | undefined {
  try {
    if (code !== "task_threw" || !error) return undefined;
    if (isExpress(value)) return EXPRESS;
    return error.name === "TypeError" ? hintOf(value as Submitted, error.message) : undefined;
  } catch {
    // Any access to a Proxy of the task may throw.
    return undefined;
  }
}

function hintOf(fn: Submitted, message: string): string | undefined {
  const source = sourceOf(fn);
  const names = parameterNames(source);
  const [first = "", second = "", third = ""] = names;
  if (first !== "" && UNDEFINED.test(message) && source.includes(`${first}.storage`)) return STORAGE;
  const ofEvent = names.length > 1 && UNDEFINED.test(message) ? OF_EVENT.exec(source)?.[1] : undefined;
  if (ofEvent !== undefined)
    return `${first} is the context of caisson, and no event of AWS Lambda, so it has no ${ofEvent}: it has query, body (parsed), headers, method and url. Return the value, or return new Response(body, { status, headers }).`;
  if (isAsyncFunction(fn) && names.length > 1) {
    return UNDEFINED.test(message) || isCall(message, second) || isCall(message, third) ? ASYNC : undefined;
  }
  if (message === `${first} is not a function` && names.length === 1) return NO_CALLBACK;
  if (message === `${third} is not a function`) return ORDER;
  if (REQUEST_NAMES.includes(first)) {
    if (names.length === 1) return OF_REQUEST.test(message) ? ONE : undefined;
    if (RESPONSE_NAMES.includes(second))
      return names.length === 2 ? (OF_EXPRESS.test(message) ? NO_RESPONSE : TWO) : ORDER;
  }
  const called = CALLED.exec(message);
  if (called && called[1] === first && isOnly(source, first)) return contextCall(first, called[2]!);
  return RESPONSE_NAMES.includes(third) && OF_EXPRESS.test(message) ? EXPRESS_MEMBER : undefined;
}

/** Whether a name is only that of the first parameter, and nothing in the function gives it another value. */
function isOnly(source: string, name: string): boolean {
  const own = name.replaceAll("$", "\\$");
  const given = new RegExp(
    String.raw`(?<![\w$.])${own}\s*(?:=(?![=>])|[-+*/|&?]+=)|(?<![\w$.])(?:const|let|var|function|class)\s+${own}\b`,
  );
  const asParameter = source.match(new RegExp(String.raw`(?<![\w$.])${own}\s*(?:=>|,[^()]*\)\s*=>|\)\s*=>)`, "g"));
  return !given.test(source) && (asParameter?.length ?? 0) <= 1;
}

/** Returns the hint for a function that calls a method of its first parameter, as of a value of the request. */
function contextCall(name: string, method: string): string {
  if (name === "data" && LIST.test(method))
    return "The first parameter is the context, and not data: write (context) => ..., and read context.body, which is the list.";
  if (/^(?:data|body|query|headers|params|secrets)$/.test(name))
    return `The first parameter is the context, and not ${name}: write (context) => ..., and read context.${name}.`;
  if (GENERAL.test(name))
    return `${name === "context" ? "The parameter" : name} is the context, which has no ${method}: ${name}.body is the parsed body, and ${name}.data has its members and the query.`;
  return `${name} is the context, and no value of the request: write (context) => ..., and read context.data.${name}.`;
}

/** Names of a first parameter that stand for all that a function receives. */
const GENERAL =
  /^(?:c|ctx|context|e|event|ev|evt|r|req|request|input|inputs|args?|arg|o|obj|opts|options|props|payload|msg|message|x|_)$/;
const LIST = /^(?:map|filter|forEach|reduce|find|some|every|sort|slice|join)$/;
const CALLED = /^([A-Za-z_$][\w$]{0,63})\.([A-Za-z_$][\w$]{0,63}) is not a function\b/;

/** Whether a message is about calling this name, or a member of it. */
function isCall(message: string, name: string): boolean {
  return name !== "" && (message.startsWith(`${name} `) || message.startsWith(`${name}.`));
}

/** Whether a value is an Express or Connect app. */
function isExpress(value: object): boolean {
  const app = value as Record<string, unknown>;
  return ["use", "handle", "listen"].every((name) => typeof app[name] === "function");
}
