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
  "An async function gets the context alone and answers by what it returns: return the result, or a Response, or write it without async.";
const TWO =
  "A function of two parameters gets (context, cb) and answers by cb(error, result). A Node handler has three: (context, req, res).";
const ORDER = "A function of three parameters gets (context, req, res), in this order.";
const NO_CALLBACK =
  "A function of one parameter gets the context, and a callback when it is called cb, callback, done or next.";
const ONE =
  'A function gets the context. A Request is given to fetch: export default { fetch(request) { return new Response("hi") } }.';
const EXPRESS =
  "An Express app does not run here, because it takes over the req and res of a server. A Hono app does, as `export default app`, and so does a function (context, req, res).";
const EXPRESS_MEMBER =
  "res is as node:http has it, without what Express adds: use res.writeHead(status, headers) and res.end(text).";
const STORAGE =
  "storage of webtask is not there: what has to last is kept elsewhere, in reach of fetch. What a module holds stays as long as its guest is warm.";

/** Members of `Response` and `Request` that a context has not. */
const OF_REQUEST = /\.(?:json|text|formData|arrayBuffer|blob|clone|headers\.\w+) is not a function$/;
const OF_EXPRESS =
  /\.(?:send|sendStatus|sendFile|json|status|redirect|render|type|set|cookie)(?:\(\.\.\.\)\S*)? is not a function$/;
const UNDEFINED = /^Cannot (?:read|set) properties of undefined/;

/**
 * What a function that threw was most likely written for, told by the names of its parameters, where it is called here in
 * another way. Never throws.
 */
export function mistakeHint(value: object, { code, error }: FaultMessage): string | undefined {
  try {
    if (code !== "task_threw" || !error) return undefined;
    if (isExpress(value)) return EXPRESS;
    return error.name === "TypeError" ? hintOf(value as Submitted, error.message) : undefined;
  } catch {
    // A Proxy of the task may throw at any touch.
    return undefined;
  }
}

function hintOf(fn: Submitted, message: string): string | undefined {
  const source = sourceOf(fn);
  const names = parameterNames(source);
  const [first = "", second = "", third = ""] = names;
  if (first !== "" && UNDEFINED.test(message) && source.includes(`${first}.storage`)) return STORAGE;
  if (isAsyncFunction(fn) && names.length > 1) {
    return UNDEFINED.test(message) || isCall(message, second) || isCall(message, third) ? ASYNC : undefined;
  }
  if (message === `${first} is not a function` && names.length === 1) return NO_CALLBACK;
  if (message === `${third} is not a function`) return ORDER;
  if (REQUEST_NAMES.includes(first)) {
    if (names.length === 1) return OF_REQUEST.test(message) ? ONE : undefined;
    if (RESPONSE_NAMES.includes(second)) return names.length === 2 ? TWO : ORDER;
  }
  return RESPONSE_NAMES.includes(third) && OF_EXPRESS.test(message) ? EXPRESS_MEMBER : undefined;
}

/** Whether a message is about calling this name, or a member of it. */
function isCall(message: string, name: string): boolean {
  return name !== "" && (message.startsWith(`${name} `) || message.startsWith(`${name}.`));
}

/** Also Connect, whose it was. */
function isExpress(value: object): boolean {
  const app = value as Record<string, unknown>;
  return ["use", "handle", "listen"].every((name) => typeof app[name] === "function");
}
