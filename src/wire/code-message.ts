import { uncurry } from "./uncurry.ts";

// Saved now: in the guest, a task may replace the originals, and later code must still be decoded correctly.
const { parse } = JSON;
const prototype: Buffer = Buffer.prototype;
const readUInt32LE = uncurry(prototype, "readUInt32LE");
const subarray = uncurry(prototype, "subarray");
const toText = uncurry(prototype, "toString");

/** Submitted code before it is parsed. */
export interface CodeMessage {
  /** UTF-8, as submitted. */
  source: Uint8Array;
  /** Whether the code was sent as `application/typescript`. The guest then strips the types before it tries JavaScript. */
  typescript: boolean;
  /** Further modules of the envelope, by relative specifier. */
  modules: Readonly<Record<string, string>> | null;
  /** Whether runs only check that the code parses. No code is evaluated. */
  parseOnly?: boolean;
  /** Whether a function body gives the value of its last statement, if that is an expression. */
  lastValue?: boolean;
  /** The packages that the code may import, by the id of their frame. Absent if it names none. */
  packagesId?: number;
  /** Whether a run executes the `CacheOrder` in its body on the packages. The code is not evaluated. */
  cachesPackages?: boolean;
}

/** The flags of a `code` frame. */
const TYPESCRIPT = 1;
const PARSE_ONLY = 2;
const LAST_VALUE = 4;
const CACHES_PACKAGES = 8;

/** The bytes before the source in a `code` frame. */
const CODE_HEAD_BYTES = 9;

/**
 * Encodes the payload of a `code` frame: flags u8, length of the source u32, id of the packages u32 or 0, the source, then
 * the modules as JSON if there are any.
 */
export function encodeCode(code: CodeMessage): Uint8Array[] {
  const head = Buffer.allocUnsafe(CODE_HEAD_BYTES);
  head[0] =
    (code.typescript ? TYPESCRIPT : 0) +
    (code.parseOnly ? PARSE_ONLY : 0) +
    (code.lastValue ? LAST_VALUE : 0) +
    (code.cachesPackages ? CACHES_PACKAGES : 0);
  head.writeUInt32LE(code.source.length, 1);
  head.writeUInt32LE(code.packagesId ?? 0, 5);
  const parts: Uint8Array[] = [head, code.source];
  if (code.modules) parts.push(Buffer.from(JSON.stringify(code.modules)));
  return parts;
}

export function decodeCode(payload: Buffer): CodeMessage {
  const sourceEnd = CODE_HEAD_BYTES + readUInt32LE(payload, 1);
  const packagesId = readUInt32LE(payload, 5);
  const flags = payload[0] ?? 0;
  return {
    typescript: (flags & TYPESCRIPT) !== 0,
    source: subarray(payload, CODE_HEAD_BYTES, sourceEnd),
    modules: sourceEnd < payload.length ? parse(toText(payload, "utf8", sourceEnd)) : null,
    ...((flags & PARSE_ONLY) !== 0 && { parseOnly: true }),
    ...((flags & LAST_VALUE) !== 0 && { lastValue: true }),
    ...(packagesId !== 0 && { packagesId }),
    ...((flags & CACHES_PACKAGES) !== 0 && { cachesPackages: true }),
  };
}
