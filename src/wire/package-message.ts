import { HEADER_BYTES } from "./frames.ts";
import { uncurry } from "./uncurry.ts";

// Saved now: in the guest, a task may replace the originals, and later packages must still be decoded correctly.
const prototype: Buffer = Buffer.prototype;
const readUInt32LE = uncurry(prototype, "readUInt32LE");
const subarray = uncurry(prototype, "subarray");
const { ceil } = Math;

const LENGTH_BYTES = 4;
const CACHE_ALIGNMENT = 8;
/** The script of an artefact gives a function, which evaluates the artefact as a CommonJS module. */
export const SCRIPT_HEAD = "(function (module, exports, require) {";
export const SCRIPT_TAIL = "\n})";
/** The parameters of the function. */
export const SCRIPT_PARAMETERS: readonly string[] = ["module", "exports", "require"];

/**
 * What a guest does with the packages of a code with `cachesPackages`; the body of its run's context. It answers with a stream.
 *
 * - `"called"`: evaluates each entry. Streams a JSON array with the ends of the functions that this calls, as offsets in the script.
 * - An array of such ends: streams V8's code cache with these functions, and executes nothing.
 * - Null: the same with all functions.
 */
export type CacheOrder = "called" | readonly number[] | null;

const head = Buffer.from(SCRIPT_HEAD);
const tail = Buffer.from(SCRIPT_TAIL);

/**
 * Encodes the payload of a `packages` frame: the length of the script u32, the script, then V8's code cache of it if there is one. The
 * script contains the artefact, so that no guest has to copy the text into a longer one.
 *
 * @returns the parts of the payload. The artefact and the cache are not copied.
 */
export function encodePackages(artefact: Buffer, cache: Buffer | null): Buffer[] {
  const first = Buffer.allocUnsafe(LENGTH_BYTES + head.length);
  const scriptBytes = head.length + artefact.length + tail.length;
  first.writeUInt32LE(scriptBytes);
  head.copy(first, LENGTH_BYTES);
  if (!cache) return [first, artefact, tail];
  const end = LENGTH_BYTES + scriptBytes;
  return [first, artefact, Buffer.concat([tail, Buffer.alloc(cacheStart(end) - end)]), cache];
}

/** Decodes the payload of a `packages` frame. Both results are views of it. */
export function decodePackages(payload: Buffer): { readonly script: Buffer; readonly cache: Buffer | null } {
  const end = LENGTH_BYTES + readUInt32LE(payload, 0);
  return {
    script: subarray(payload, LENGTH_BYTES, end),
    cache: end < payload.length ? subarray(payload, cacheStart(end)) : null,
  };
}

/** Returns where the cache starts behind a script: V8 copies a cache whose place in the frame is not a multiple of this. */
function cacheStart(scriptEnd: number): number {
  return ceil((HEADER_BYTES + scriptEnd) / CACHE_ALIGNMENT) * CACHE_ALIGNMENT - HEADER_BYTES;
}
