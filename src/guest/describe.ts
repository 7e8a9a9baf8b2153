import { types } from "node:util";

import type { ErrorMessage } from "../wire/messages.ts";
import { asSubmitted } from "./stack-positions.ts";

/** The length limits, in characters, of the thrown error and of the errors nested in its `cause` and `errors`. */
const OUTER = { message: 8 * 1024, stack: 32 * 1024 };
const INNER = { message: 1024, stack: 2 * 1024 };
type Bounds = typeof OUTER;

/** A guest that throws an object graph must not make the service hold all of it. */
const MAX_NAME_CHARACTERS = 256;
const MAX_CAUSES = 8;
const MAX_ERRORS = 16;
const MAX_PROPERTIES = 32;
/** The limit for one property as JSON, and the limit for all properties of one fault. */
const MAX_PROPERTY_CHARACTERS = 4 * 1024;
const MAX_PROPERTIES_CHARACTERS = 16 * 1024;
/** Below the depth at which the service ends the guest. */
const MAX_PROPERTY_DEPTH = 8;

/** These properties have separate rules, or are dangerous to copy. */
const HANDLED_SEPARATELY = ["name", "message", "stack", "cause", "errors", "__proto__"];
/** HTTP clients attach the first three to errors, with credentials in them. Node's loaders attach `requireStack`, with host paths. */
const LIBRARY_PROPERTIES = ["config", "request", "response", "requireStack"];
const OMITTED_PROPERTIES = [...HANDLED_SEPARATELY, ...LIBRARY_PROPERTIES];

const UNREADABLE = { name: "Error", message: "the task threw something that cannot be read" };

const { isArray } = Array;
const { getPrototypeOf, keys } = Object;
const plain = Object.prototype;
const { parse, stringify } = JSON;
/** The tag of an event, which has no name as an error has. */
const tag = Symbol.toStringTag;
const isView = ArrayBuffer.isView.bind(ArrayBuffer);
const { isProxy } = types;

/**
 * Returns any thrown value within bounds: its name, message and stack, its causes, its aggregated errors, and its properties
 * that have a JSON form. The stack has only frames of submitted texts, with their URLs: `SourceTexts` rewrites them.
 */
export function describeWhole(error: unknown): ErrorMessage {
  return withRest(error, OUTER, {
    characters: MAX_PROPERTIES_CHARACTERS,
    causes: MAX_CAUSES,
    errors: MAX_ERRORS,
    seen: [],
  });
}

/** The remaining limits of one fault. */
interface Allowance {
  characters: number;
  causes: number;
  errors: number;
  /** The errors already described: an error may be its own cause. */
  readonly seen: object[];
}

function withRest(error: unknown, bounds: Bounds, left: Allowance): ErrorMessage {
  const description: ErrorMessage = { ...describe(error, bounds) };
  if (typeof error !== "object" || error === null) return description;
  left.seen[left.seen.length] = error;
  addProperties(description, error, left);
  const cause = read(error, "cause");
  if (cause !== undefined && left.causes > 0 && !left.seen.includes(cause as object)) {
    left.causes -= 1;
    description.cause = withRest(cause, INNER, left);
  }
  const errors = read(error, "errors");
  if (!isArray(errors) || isProxy(errors)) return description;
  const list: ErrorMessage[] = [];
  for (let index = 0; index < errors.length && left.errors > 0; index += 1) {
    left.errors -= 1;
    if (!left.seen.includes(errors[index] as object)) list.push(withRest(errors[index], INNER, left));
  }
  if (list.length > 0) description.errors = list;
  return description;
}

function describe(error: unknown, bounds: Bounds): ErrorMessage {
  try {
    if (error === null || (typeof error !== "object" && typeof error !== "function")) {
      return { name: "Error", message: bounded(String(error), bounds.message) };
    }
    // Each property is read separately, so a getter that throws hides only its own property.
    const name = read(error, "name");
    const message = read(error, "message");
    const stack = read(error, "stack");
    if (message === "" && name === undefined && read(error, tag) === "ErrorEvent")
      return { name: "ErrorEvent", message: "an event of the type error without a message" };
    const text: ErrorMessage = {
      name: bounded(typeof name === "string" && name !== "" ? name : "Error", MAX_NAME_CHARACTERS),
      message: asSubmitted(bounded(typeof message === "string" ? message : asText(error), bounds.message)),
    };
    if (typeof stack === "string") text.stack = submittedStack(text, stack, bounds.stack);
    return text;
  } catch {
    // The task replaced a built-in that is used here, or a `toString` does not return a string.
    return UNREADABLE;
  }
}

function addProperties(description: ErrorMessage, error: object, left: Allowance): void {
  try {
    // The properties of arrays and views are their elements.
    if (isArray(error) || isView(error) || isProxy(error)) return;
    const names = keys(error);
    for (let index = 0; index < names.length && index < MAX_PROPERTIES; index += 1) {
      const name = names[index]!;
      if (OMITTED_PROPERTIES.includes(name) || name.length > MAX_NAME_CHARACTERS) continue;
      const text = json(read(error, name));
      if (text === null || (name === "url" && text.startsWith('"file:')) || text.length + name.length > left.characters)
        continue;
      left.characters -= text.length + name.length;
      // Parsed again, so that writing the fault never calls a `toJSON` of the task.
      description[name] = parse(asSubmitted(text));
    }
  } catch {
    // The properties added so far are enough.
  }
}

/** Returns the JSON of a value, or null if the value has no JSON form or exceeds the bounds. */
function json(value: unknown): string | null {
  try {
    const text = stringify(value) as string | undefined;
    if (text === undefined || text.length > MAX_PROPERTY_CHARACTERS) return null;
    return isShallow(parse(text), MAX_PROPERTY_DEPTH) ? text : null;
  } catch {
    return null;
  }
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (depth === 0) return false;
  const names = keys(value);
  for (let index = 0; index < names.length; index += 1) {
    if (!isShallow((value as Record<string, unknown>)[names[index]!], depth - 1)) return false;
  }
  return true;
}

function read(error: object, name: string | symbol): unknown {
  try {
    return (error as Record<string | symbol, unknown>)[name];
  } catch {
    return undefined;
  }
}

/** Converts a thrown object to text. The JSON of a plain object is more useful than "[object Object]". */
function asText(error: object): string {
  try {
    if (getPrototypeOf(error) === plain) return stringify(error);
    return (error as Error).toString();
  } catch {
    return UNREADABLE.message;
  }
}

/** Removes the stack frames of the harness and of Node: they do not help the task's author and contain host paths. */
function submittedStack(error: ErrorMessage, stack: string, maxCharacters: number): string {
  let text = `${error.name}: ${error.message}`;
  const lines = bounded(stack, 4 * OUTER.stack).split("\n");
  // By index, here and in all code that describes a fault: a task may have replaced the array iterator.
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index]!;
    if (/^\s+at /.test(line) && (line.includes("task:/") || line.includes("package:/"))) text += `\n${line}`;
  }
  return bounded(text, maxCharacters);
}

/** Cuts a text to a number of characters. */
export function bounded(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters - 1)}…`;
}
