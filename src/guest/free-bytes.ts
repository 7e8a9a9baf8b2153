import { uncurry } from "../wire/uncurry.ts";

const { get: bufferOf } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), "buffer") as {
  get: () => ArrayBuffer;
};
const bufferOfBytes = Function.prototype.call.bind(bufferOf) as (bytes: Uint8Array) => ArrayBuffer;
const { get: sizeOf } = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, "byteLength") as { get: () => number };
const sizeOfBuffer = Function.prototype.call.bind(sizeOf) as (buffer: ArrayBuffer) => number;
const transfer = uncurry(ArrayBuffer.prototype, "transfer");

/** Less is left to V8: freeing it would take longer than it is worth. */
const LEAST_BYTES = 1_024;

/**
 * Frees the memory of bytes at once. Nothing may read them afterwards. V8 frees such memory when it collects garbage, and waits with this
 * until there are some 128 MiB, which is half of what a guest has. Bytes in a buffer with others stay.
 */
export function freeBytes(bytes: Uint8Array): void {
  const { length } = bytes;
  if (length < LEAST_BYTES) return;
  const buffer = bufferOfBytes(bytes);
  if (sizeOfBuffer(buffer) === length) transfer(buffer, 0);
}
