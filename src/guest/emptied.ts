import { types } from "node:util";

import { isPath, type ResultHint } from "../wire/result-hints.ts";
import { uncurry } from "../wire/uncurry.ts";

/** A longer result is not looked at: finding `{}` in its JSON takes a small part of the time that JSON.stringify took. */
const MAX_CHARACTERS = 64 * 1024;
/** The values of one result that are looked at. A result has most of them only if it has many empty objects. */
const MAX_VALUES = 1_000;
const MAX_DEPTH = 8;

/**
 * The answer of a function for AWS Lambda, or an object with only the members of a Response. The text is tested, because a getter
 * of the value could be code of the task.
 */
const LAMBDA = /^\{"statusCode":\d{3},(?=.*"body":)/s;
const RESPONSE = /^\{(?=.{0,2000}"status":[1-5]\d\d\b)(?=.*"body":)/s;
const RESPONSE_NAMES = ["status", "statusCode", "statusText", "headers", "body"];
const CONVERTED =
  /\[object (?:Promise|Object|Map|Set|Response|Request|AsyncFunction|(?:Async)?Generator|Array Iterator)\]/;

/** Answers without a body. The headers of a received answer name its date, its server or its connection. */
const HEAD =
  /^\{"statusCode":\d{3},"(?:headers|multiValueHeaders|cookies|isBase64Encoded)":(?!.*"(?:date|server|connection)":)/is;
const REDIRECT = /^\{(?="(?:status|headers|body))(?=.{0,2000}"status(?:Code)?":3\d\d\b).{0,2000}"location":"/is;
const MAX_HEAD = 4_096;

/** What a text begins with that is a page or a part of one. */
const PAGE =
  /^\s{0,100}<(?:!doctype\s+html|html|head|body|main|section|article|nav|header|footer|h[1-6]|p|div|span|table|ul|ol|form|button|a|b|em|strong|img|pre|style|script|title|svg)(?=[\s>/])/i;
/** The names of functions of a Response, which are the names of the functions as values, too. */
const OF_RESPONSE = /^(?:json|text|blob|arrayBuffer|formData|bytes)$/;

/** A longer text may have the word for another reason. */
const MAX_SENTENCE = 1_024;
const UNDEFINED = /(?:^|[^\w"'`]|\d)undefined(?![A-Za-z_"'`])/;
const OF_ONE_VALUE = /^(?:number|date|mapped|emitter)$/;
/** What + may make of two numbers that are texts. */
const DIGITS = /^-?\d[\d.]+$/;
const MAX_DIGITS = 40;
/** A longer text is not parsed, because other runs of the guest wait meanwhile. */
const MAX_JSON = 16 * 1024;
const { parse } = JSON;
const { isFinite, isNaN } = Number;
const timeOf = uncurry(Date.prototype, "getTime");
const { isArray } = Array;
const { getOwnPropertyDescriptor, getPrototypeOf, hasOwn, keys } = Object;
const {
  isBoxedPrimitive,
  isDate,
  isMap,
  isMapIterator,
  isNativeError,
  isPromise,
  isProxy,
  isRegExp,
  isSet,
  isSetIterator,
} = types;
const plain = Object.prototype;
const toTag = Symbol.toStringTag;

/** A value that JSON empties, and where it is. */
export interface Emptied {
  readonly hint: ResultHint;
  /** The path of the value in the result, or an empty text if the value is the result, or its path has unusual names. */
  readonly path: string;
}

/**
 * Returns the first value of a result of which JSON keeps nothing, although it holds something: a promise, a Map, an error, an
 * instance of a class. Never calls code of the task: getters and proxies are skipped.
 *
 * @param text the JSON of the result
 */
export function emptiedIn(value: unknown, text: string): Emptied | null {
  if (typeof value === "number") return text === "null" ? { hint: "number", path: "" } : null;
  if (value === null || text.length > MAX_CHARACTERS || (typeof value !== "object" && typeof value !== "string"))
    return null;
  try {
    if (typeof value === "string") return textHint(value);
    if (isDate(value)) return text === "null" ? { hint: "date", path: "" } : null;
    if (text.length <= MAX_HEAD && (HEAD.test(text) || (REDIRECT.test(text) && isLikeResponse(value))))
      return { hint: "lambda", path: "" };
    if (LAMBDA.test(text) || (RESPONSE.test(text) && isLikeResponse(value))) return { hint: "lambda", path: "" };
    const hasNull = text.includes("null");
    const found = hasNull || text.includes("{}") ? find(value, "", 0, { left: MAX_VALUES }) : null;
    if (found && isPath(found.path)) return found;
    // Without its path, these would be stated of the whole result.
    if (found && OF_ONE_VALUE.test(found.hint)) return null;
    if (found) return { ...found, path: "" };
    return text.includes("[object ") ? conversion(text) : null;
  } catch {
    // The task replaced a built-in that is used here.
    return null;
  }
}

/** The members and the items of a result that are looked at for one that JSON leaves out. */
const MAX_MEMBERS = 20;

/** Whether a result, or the first item of a list, is an object with a member that is undefined, which JSON leaves out. Never calls code of the task. */
export function losesMember(value: unknown): boolean {
  try {
    if (typeof value !== "object" || value === null || isProxy(value)) return false;
    if (isArray(value)) {
      const first: unknown = getOwnPropertyDescriptor(value, "0")?.value;
      return !isArray(first) && losesMember(first);
    }
    if (getPrototypeOf(value) !== plain) return false;
    const names = keys(value);
    const count = names.length < MAX_MEMBERS ? names.length : MAX_MEMBERS;
    for (let index = 0; index < count; index += 1) {
      const member = getOwnPropertyDescriptor(value, names[index]!);
      if (member !== undefined && "value" in member && member.value === undefined) return true;
    }
    return false;
  } catch {
    // The task replaced a built-in that is used here.
    return false;
  }
}

/** The JSON of a text that has the word undefined between other words. A longer result may have it for another reason. */
const JOINED = /[^\w"'`]undefined(?![\w'`])|"undefined(?=[^\w"])/;

/** Whether a text in a result has the word undefined in it, as if the code had put a value into the text that is not there. */
export function joinsUndefined(json: string): boolean {
  try {
    return json.length <= MAX_SENTENCE && json.includes("undefined") && JOINED.test(json);
  } catch {
    // The task replaced a built-in that is used here.
    return false;
  }
}

/** What a text is instead of the text that the code probably meant. */
function textHint(text: string): Emptied | null {
  if (text.includes("[object ")) return conversion(text);
  if (text.length < MAX_DIGITS && DIGITS.test(text)) return { hint: "digits", path: "" };
  if (text.length <= MAX_SENTENCE && UNDEFINED.test(text)) return { hint: "undefinedText", path: "" };
  if (OF_RESPONSE.test(text)) return { hint: "uncalled", path: `.${text}` };
  if (PAGE.test(text) && text.slice(-100).trimEnd().endsWith(">")) return { hint: "htmlText", path: "" };
  const [first, last] = [text[0], text[text.length - 1]];
  if (!((first === "{" && last === "}") || (first === "[" && last === "]")) || text.length > MAX_JSON) return null;
  try {
    parse(text);
    return { hint: "jsonText", path: "" };
  } catch {
    return null;
  }
}

function conversion(text: string): Emptied | null {
  const found = CONVERTED.exec(text)?.[0];
  if (found === undefined) return null;
  return { hint: found === "[object Promise]" ? "promiseText" : "objectText", path: "" };
}

function isLikeResponse(value: object): boolean {
  const names = keys(value);
  for (let index = 0; index < names.length; index += 1) if (!RESPONSE_NAMES.includes(names[index]!)) return false;
  return true;
}

interface Search {
  /** The values that may still be looked at. */
  left: number;
}

function find(value: object, path: string, depth: number, search: Search): Emptied | null {
  search.left -= 1;
  if (search.left < 0 || depth > MAX_DEPTH || isProxy(value)) return null;
  const isList = isArray(value);
  const isPlain = isList || getPrototypeOf(value) === plain;
  const names = keys(value);
  if (!isPlain) {
    if ("toJSON" in value || isBoxedPrimitive(value)) return null;
    if (isEmitter(value)) return { hint: "emitter", path };
    if (names.length === 0 && getPrototypeOf(value) !== null) return { hint: kindOf(value), path };
  }
  if (isList && isOfUndefined(value, names)) return { hint: "mapped", path };
  let functionAt: string | null = null;
  let isEmpty = names.length > 0;
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index]!;
    // By convention private, for example in the classes of Node.
    if (name.startsWith("_")) continue;
    const member: unknown = getOwnPropertyDescriptor(value, name)?.value;
    const step = isList ? `${path}[${name}]` : `${path}.${name}`;
    if (typeof member === "function") functionAt ??= step;
    else if (member !== undefined) isEmpty = false;
    if (typeof member === "number" && !isFinite(member)) return { hint: "number", path: step };
    if (isDate(member) && isNaN(timeOf(member))) return { hint: "date", path: step };
    if (typeof member !== "object" || member === null) continue;
    const found = find(member, step, depth + 1, search);
    if (found) return found;
    if (search.left < 0) return null;
  }
  // An object is empty in JSON if all its members are functions.
  return isEmpty && functionAt !== null && !isList ? { hint: "function", path: functionAt } : null;
}

/** A stream without listeners has no count of them. */
function isEmitter(value: object): boolean {
  if (!hasOwn(value, "_events")) return false;
  return hasOwn(value, "_eventsCount") || hasOwn(value, "_readableState") || hasOwn(value, "_writableState");
}

/** Whether a list has items, and each is undefined. */
function isOfUndefined(list: object, names: readonly string[]): boolean {
  for (let index = 0; index < names.length; index += 1) {
    const item = getOwnPropertyDescriptor(list, names[index]!);
    if (item === undefined || !("value" in item) || item.value !== undefined) return false;
  }
  return names.length > 0;
}

function kindOf(value: object): ResultHint {
  if (isPromise(value)) return "promise";
  if (isMap(value)) return "map";
  if (isSet(value)) return "set";
  if (isNativeError(value)) return "error";
  if (isRegExp(value)) return "pattern";
  if (isMapIterator(value) || isSetIterator(value)) return "iterator";
  switch ((value as { [toTag]?: unknown })[toTag]) {
    case "Response":
    case "Request":
      return "response";
    case "Headers":
    case "URLSearchParams":
    case "FormData":
      return "headers";
    case "Array Iterator":
    case "Generator":
    case "AsyncGenerator":
    case "Iterator Helper":
      return "iterator";
    default:
      return "instance";
  }
}
