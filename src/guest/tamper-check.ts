import { EventEmitter } from "node:events";
import { Socket } from "node:net";
import { Duplex, Readable, Writable } from "node:stream";

import { bytesFrame } from "../wire/frames.ts";
import { FROM_GUEST } from "../wire/messages.ts";

/**
 * The built-ins that a task can replace and that the harness and Node use for later runs. The harness saves most built-ins
 * when it starts. But it also calls methods of strings and patterns directly, and Node looks up the methods of its sockets
 * at each call.
 */
const BUILT_INS: readonly object[] = [
  Object,
  Object.prototype,
  Function.prototype,
  Array.prototype,
  String.prototype,
  RegExp.prototype,
  Reflect,
  ...[[], new Map(), new Set(), ""].map((each) => Object.getPrototypeOf(each[Symbol.iterator]()) as object),
  EventEmitter.prototype,
  Readable.prototype,
  Writable.prototype,
  Duplex.prototype,
  Socket.prototype,
];
const GLOBALS = [
  "Array",
  "Error",
  "Function",
  "JSON",
  "Map",
  "Object",
  "Promise",
  "Reflect",
  "RegExp",
  "String",
  "Symbol",
];
const { getOwnPropertyDescriptor, getOwnPropertyNames } = Object;
const { ownKeys } = Reflect;
const plain = Object.prototype;
const list = Array.prototype;

const methods: { owner: Record<PropertyKey, unknown>; key: PropertyKey; value: unknown }[] = [];
/** Regular expressions read their flags through these getters. */
const getters: { key: PropertyKey; get: unknown }[] = [];
const pattern = RegExp.prototype;
let plainKeys = 0;
let hasAsked = false;

/** Saves the current built-ins. Call it once, after the harness has started and before any submitted code runs. */
export function rememberBuiltIns(): void {
  for (const owner of BUILT_INS) for (const key of ownKeys(owner)) remember(owner, key);
  for (const key of GLOBALS) remember(globalThis, key);
  remember(process, "nextTick");
  for (const key of ownKeys(pattern)) {
    const { get } = getOwnPropertyDescriptor(pattern, key) as { get?: unknown };
    if (get) getters.push({ key, get });
  }
  plainKeys = ownKeys(plain).length;
}

/** Whether a task has replaced one of the saved built-ins. Takes some microseconds. */
function isTampered(): boolean {
  try {
    for (let at = 0; at < methods.length; at += 1) {
      const { owner, key, value } = methods[at]!;
      if (owner[key] !== value) return true;
    }
    for (let at = 0; at < getters.length; at += 1) {
      const { key, get } = getters[at]!;
      if (getOwnPropertyDescriptor(pattern, key)?.get !== get) return true;
    }
    // Every object inherits a property added to `Object.prototype`, property descriptors too. Every array inherits an index
    // set on `Array.prototype`.
    return ownKeys(plain).length !== plainKeys || getOwnPropertyNames(list)[0] !== "length";
  } catch {
    // A getter replaced a built-in and threw.
    return true;
  }
}

function remember(owner: object, key: PropertyKey): void {
  const value: unknown = getOwnPropertyDescriptor(owner, key)?.value;
  if (typeof value === "function") methods.push({ owner: owner as Record<PropertyKey, unknown>, key, value });
}

/**
 * Asks the service for another guest if submitted code has broken built-ins that later runs need. Without this frame, the
 * service would learn of it only when these runs fail. The check runs once for all frames of a turn, because it takes as
 * long as a small run. Its frame goes before their results, because the service sends the next run when it gets a result. One frame is
 * enough: the service replaces the guest when it can.
 */
export function checkForTampering(): Buffer | null {
  if (hasAsked || !isTampered()) return null;
  hasAsked = true;
  return bytesFrame(FROM_GUEST.retire, 0);
}
