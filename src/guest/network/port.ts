import { types } from "node:util";
import type { MessagePort as Port } from "node:worker_threads";

import { uncurry } from "../../wire/uncurry.ts";

const { isUint8Array } = types;
const Bytes = Uint8Array;
const prototype: Buffer = Buffer.prototype;
const readUInt32LE = uncurry(prototype, "readUInt32LE");
const subarray = uncurry(prototype, "subarray");
const view = Buffer.from.bind(Buffer) as (bytes: ArrayBufferLike, offset: number, size: number) => Buffer;
const portPrototype: Port = MessagePort.prototype;
const post = uncurry(portPrototype, "postMessage");
const listen = uncurry(portPrototype, "on") as (port: Port, event: string, listener: (value: unknown) => void) => void;
const ref = uncurry(portPrototype, "ref");
const unref = uncurry(portPrototype, "unref");
const hasInstance = uncurry(Function.prototype, Symbol.hasInstance);
const PortClass = MessagePort;

const HEADER_BYTES = 9;
const LENGTH_BYTES = 4;

/** A frame from another thread. Submitted code can forge its content. */
export interface PortFrame {
  frame: Buffer;
  type: number;
  id: number;
  payload: Buffer;
}

export interface PortEvents {
  frame(frame: PortFrame): void;
  port(other: Port): void;
  /** Called when the other thread has ended. */
  closed(): void;
}

/** Receives the frames of another thread. The port keeps this thread alive until `unrefPort`. */
export function onPort(port: Port, events: PortEvents): void {
  listen(port, "message", (message) => {
    if (hasInstance(PortClass, message)) return events.port(message as Port);
    const frame = frameIn(message);
    if (frame) events.frame(frame);
  });
  listen(port, "close", () => events.closed());
}

export function postFrame(port: Port, frame: Buffer): void {
  // The memory moves to the other thread, so it must not be Node's pool, which holds other buffers too.
  const bytes = new Bytes(frame);
  post(port, bytes, [bytes.buffer]);
}

export function postPort(port: Port, other: Port): void {
  post(port, other, [other]);
}

export function refPort(port: Port): void {
  ref(port);
}

export function unrefPort(port: Port): void {
  unref(port);
}

/** Returns null if the message is not exactly one frame. */
function frameIn(message: unknown): PortFrame | null {
  if (!isUint8Array(message) || message.length < HEADER_BYTES) return null;
  const frame = view(message.buffer, message.byteOffset, message.length);
  if (readUInt32LE(frame, 0) !== frame.length - LENGTH_BYTES) return null;
  return { frame, type: frame[4]!, id: readUInt32LE(frame, 5), payload: subarray(frame, HEADER_BYTES) };
}
