import { types } from "node:util";

import type { ErrorMessage } from "../wire/messages.ts";
import { asSubmitted } from "./stack-positions.ts";

/** What an error that is thrown may say, and what those may that it names, as its cause or as one of several. */
const OUTER = { message: 8 * 1024, stack: 32 * 1024 };
const INNER = { message: 1024, stack: 2 * 1024 };
type Bounds = typeof OUTER;

/** A guest that throws an object graph must not make the service hold it. */
const MAX_NAME_CHARACTERS = 256;
const MAX_CAUSES = 8;
const MAX_ERRORS = 16;
const MAX_PROPERTIES = 32;
/** Of one property as JSON, and of all that an answer has. */
const MAX_PROPERTY_CHARACTERS = 4 * 1024;
const MAX_PROPERTIES_CHARACTERS = 16 * 1024;
/** The service ends a guest whose error nests deeper than it takes. */
const MAX_PROPERTY_DEPTH = 8;

/** Told by their own rules. */
const TOLD_APART = ["name", "message", "stack", "cause", "errors", "__proto__"];
/** What HTTP clients hang on their errors, in which credentials stand; and Node's loaders, in which the host's paths do. */
const OF_LIBRARIES = ["config", "request", "response", "requireStack"];
const NOT_PROPERTIES = [...TOLD_APART, ...OF_LIBRARIES];

const UNREADABLE = { name: "Error", message: "the task threw something that cannot be read" };

const { isArray } = Array;
const { getPrototypeOf, keys } = Object;
const plain = Object.prototype;
const { parse, stringify } = JSON;
const isView = ArrayBuffer.isView.bind(ArrayBuffer);
const { isProxy } = types;

/** Name, message and stack of anything that can be thrown, within bounds, with places of the submitted text only. */
export function describeError(error: unknown): ErrorMessage {
  return describe(error, OUTER);
}

/** The same with its causes, the errors that it stands for, and those of its own properties that are JSON. */
export function describeWhole(error: unknown): ErrorMessage {
  return withRest(error, OUTER, {
    characters: MAX_PROPERTIES_CHARACTERS,
    causes: MAX_CAUSES,
    errors: MAX_ERRORS,
    seen: [],
  });
}

/** What is left to tell of one answer. */
interface Allowance {
  characters: number;
  causes: number;
  errors: number;
  /** What is told already: an error may be its own cause. */
  readonly seen: object[];
}

function withRest(error: unknown, bounds: Bounds, left: Allowance): ErrorMessage {
  const told: ErrorMessage = { ...describe(error, bounds) };
  if (typeof error !== "object" || error === null) return told;
  left.seen[left.seen.length] = error;
  addProperties(told, error, left);
  const cause = read(error, "cause");
  if (cause !== undefined && left.causes > 0 && !left.seen.includes(cause as object)) {
    left.causes -= 1;
    told.cause = withRest(cause, INNER, left);
  }
  const errors = read(error, "errors");
  if (!isArray(errors) || isProxy(errors)) return told;
  const list: ErrorMessage[] = [];
  for (let index = 0; index < errors.length && left.errors > 0; index += 1) {
    left.errors -= 1;
    if (!left.seen.includes(errors[index] as object)) list.push(withRest(errors[index], INNER, left));
  }
  if (list.length > 0) told.errors = list;
  return told;
}

function describe(error: unknown, bounds: Bounds): ErrorMessage {
  try {
    if (error === null || (typeof error !== "object" && typeof error !== "function")) {
      return { name: "Error", message: bounded(String(error), bounds.message) };
    }
    // Each by itself: a getter that throws hides only what is its own.
    const name = read(error, "name");
    const message = read(error, "message");
    const stack = read(error, "stack");
    const text: ErrorMessage = {
      name: bounded(typeof name === "string" && name !== "" ? name : "Error", MAX_NAME_CHARACTERS),
      message: asSubmitted(bounded(typeof message === "string" ? message : asText(error), bounds.message)),
    };
    if (typeof stack === "string") text.stack = submittedStack(text, stack, bounds.stack);
    return text;
  } catch {
    // A task that replaced what is used here, or a `toString` that returns no text.
    return UNREADABLE;
  }
}

function addProperties(told: ErrorMessage, error: object, left: Allowance): void {
  try {
    // Their properties are their elements.
    if (isArray(error) || isView(error) || isProxy(error)) return;
    const names = keys(error);
    for (let index = 0; index < names.length && index < MAX_PROPERTIES; index += 1) {
      const name = names[index]!;
      if (NOT_PROPERTIES.includes(name) || name.length > MAX_NAME_CHARACTERS) continue;
      const text = json(read(error, name));
      if (text === null || (name === "url" && text.startsWith('"file:')) || text.length + name.length > left.characters)
        continue;
      left.characters -= text.length + name.length;
      // Read again, so that no `toJSON` of the task is called when the fault is written.
      told[name] = parse(asSubmitted(text));
    }
  } catch {
    // What was told by then is enough.
  }
}

/** The JSON of a value that has some, within bounds; else null. */
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

function read(error: object, name: string): unknown {
  try {
    return (error as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

/** A thrown plain object says more as JSON than as [object Object]. */
function asText(error: object): string {
  try {
    if (getPrototypeOf(error) === plain) return stringify(error);
    return (error as Error).toString();
  } catch {
    return UNREADABLE.message;
  }
}

/** Frames of the harness and of Node tell a task's author nothing, and what stands in them is not theirs to see. */
function submittedStack(error: ErrorMessage, stack: string, maxCharacters: number): string {
  let text = `${error.name}: ${error.message}`;
  const lines = bounded(stack, 4 * OUTER.stack).split("\n");
  // By index, here and wherever a fault is told: a task may have replaced the iterator of arrays.
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index]!;
    if (/^\s+at /.test(line) && line.includes("task:/")) text += `\n${asSubmitted(line)}`;
  }
  return bounded(text, maxCharacters);
}

/** As much of a text as may be told. */
export function bounded(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters - 1)}…`;
}
