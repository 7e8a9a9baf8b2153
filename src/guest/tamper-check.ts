import { EventEmitter } from "node:events";
import { Socket } from "node:net";
import { Duplex, Readable, Writable } from "node:stream";

/**
 * What later codes are read, run and answered with, by the harness and by Node, and a task can replace. What the harness
 * can take for itself it takes at its start; but it reads texts with all that strings and patterns can do, and Node itself
 * looks up the methods of its sockets each time.
 */
const TOOLS: readonly object[] = [
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
/** Patterns look at their own flags through these. */
const getters: { key: PropertyKey; get: unknown }[] = [];
const pattern = RegExp.prototype;
let plainKeys = 0;

/** Remembers the tools as they are. To be called once, when the harness stands and before any submitted code runs. */
export function rememberTools(): void {
  for (const owner of TOOLS) for (const key of ownKeys(owner)) remember(owner, key);
  for (const key of GLOBALS) remember(globalThis, key);
  remember(process, "nextTick");
  for (const key of ownKeys(pattern)) {
    const { get } = getOwnPropertyDescriptor(pattern, key) as { get?: unknown };
    if (get) getters.push({ key, get });
  }
  plainKeys = ownKeys(plain).length;
}

/** Whether a task has damaged one of the tools. Takes some microseconds. */
export function isDamaged(): boolean {
  try {
    for (let at = 0; at < methods.length; at += 1) {
      const { owner, key, value } = methods[at]!;
      if (owner[key] !== value) return true;
    }
    for (let at = 0; at < getters.length; at += 1) {
      const { key, get } = getters[at]!;
      if (getOwnPropertyDescriptor(pattern, key)?.get !== get) return true;
    }
    // Every object has what is added here, also descriptions of properties; every list catches an index that is set here.
    return ownKeys(plain).length !== plainKeys || getOwnPropertyNames(list)[0] !== "length";
  } catch {
    // A getter in the place of a tool.
    return true;
  }
}

function remember(owner: object, key: PropertyKey): void {
  const value: unknown = getOwnPropertyDescriptor(owner, key)?.value;
  if (typeof value === "function") methods.push({ owner: owner as Record<PropertyKey, unknown>, key, value });
}
