import type { Anchor } from "../../steady-clock.ts";
import { FRAME_HEADER_BYTES, seal } from "./journal-frames.ts";

/**
 * The payload of a frame is a list of records. The first byte is the kind of a record. A first byte up to `MAX_KEYS` is an
 * admission, and the byte is the number of its keys.
 *
 * - admission: number of keys u8, time u48, that many ids u32
 * - reset: tag u8, time u48, id u32
 * - key: tag u8, id u32, length of the name u32, the name in UTF-8. Ids begin at 0 in each journal and have no gaps. They are
 *   written so that records after a damaged one can still be read
 * - counts: tag u8, length of the name u32, the name, number of entries u32, for each time u48 and runs u48
 * - anchor: tag u8, boot id of 16 bytes, milliseconds since that boot u48, time u48
 * - start: tag u8, version u8, time u48. The first record of every file
 * - end: tag u8, number of keys u48. The last record of a snapshot
 */
const MAX_KEYS = 200;
const TAG = { anchor: 249, key: 250, reset: 251, counts: 253, start: 254, end: 255 } as const;

/** The version of the format. A file with another version is rejected. */
export const COUNTS_VERSION = 2;
const FIRST_BYTES = 16_384;
const BOOT_BYTES = 16;

/** The length of a file that contains only its start record. */
export const START_BYTES: number = FRAME_HEADER_BYTES + 8;

/** Reports a file of another release. The file is whole and must not be treated as damaged. */
export class VersionError extends Error {
  constructor(version: number) {
    super(
      `it has version ${version} of the format, and this release reads version ${COUNTS_VERSION}: start the release that ` +
        "wrote it, or restore a backup that this release made",
    );
  }
}

/** The records of a file, in order. The writer and the reader have the same members. */
export interface Records {
  admission(time: number, ids: readonly number[]): void;
  reset(time: number, id: number): void;
  key(name: string, id: number): void;
  counts(name: string, entries: readonly (readonly [time: number, count: number])[]): void;
  anchor(anchor: Anchor): void;
  start(time: number): void;
  end(keys: number): void;
}

/** Collects records into one frame. */
export class RecordWriter implements Records {
  #buffer = Buffer.allocUnsafe(FIRST_BYTES);
  #at = FRAME_HEADER_BYTES;

  get bytes(): number {
    return this.#at;
  }

  admission(time: number, ids: readonly number[]): void {
    if (ids.length > MAX_KEYS) throw new TypeError(`a run counts against ${ids.length} keys; the limit is ${MAX_KEYS}`);
    this.#tag(ids.length, 7 + 4 * ids.length);
    this.#u48(time);
    for (const id of ids) this.#u32(id);
  }

  reset(time: number, id: number): void {
    this.#tag(TAG.reset, 11);
    this.#u48(time);
    this.#u32(id);
  }

  key(name: string, id: number): void {
    this.#tag(TAG.key, 5);
    this.#u32(id);
    this.#name(name, 0);
  }

  counts(name: string, entries: readonly (readonly [time: number, count: number])[]): void {
    this.#tag(TAG.counts, 1);
    this.#name(name, 4 + 12 * entries.length);
    this.#u32(entries.length);
    for (const [time, count] of entries) {
      this.#u48(time);
      this.#u48(count);
    }
  }

  anchor({ boot, ms, time }: Anchor): void {
    this.#tag(TAG.anchor, 1 + BOOT_BYTES + 12);
    this.#at += this.#buffer.write(boot, this.#at, "hex");
    this.#u48(ms);
    this.#u48(time);
  }

  start(time: number): void {
    this.#tag(TAG.start, 8);
    this.#buffer[this.#at++] = COUNTS_VERSION;
    this.#u48(time);
  }

  end(keys: number): void {
    this.#tag(TAG.end, 7);
    this.#u48(keys);
  }

  /** Returns the frame so far, and begins a new one. The bytes are valid until the next record. */
  take(): Buffer {
    const frame = seal(this.#buffer.subarray(0, this.#at));
    this.clear();
    return frame;
  }

  clear(): void {
    this.#at = FRAME_HEADER_BYTES;
  }

  #name(name: string, moreBytes: number): void {
    const length = Buffer.byteLength(name);
    this.#reserve(4 + length + moreBytes);
    this.#u32(length);
    this.#at += this.#buffer.write(name, this.#at, "utf8");
  }

  #tag(tag: number, bytes: number): void {
    this.#reserve(bytes);
    this.#buffer[this.#at++] = tag;
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(2 * (this.#at + bytes));
      this.#buffer.copy(larger, 0, 0, this.#at);
      this.#buffer = larger;
    }
  }

  #u32(value: number): void {
    this.#at = this.#buffer.writeUInt32LE(value, this.#at);
  }

  #u48(value: number): void {
    this.#at = this.#buffer.writeUIntLE(value, this.#at, 6);
  }
}

/**
 * @throws {RangeError} when the payload holds something else, though its checksum is right.
 * @throws {VersionError} when another release wrote it.
 */
export function readRecords(payload: Buffer, reader: Records): void {
  let at = 0;
  const u32 = (): number => payload.readUInt32LE((at += 4) - 4);
  const u48 = (): number => payload.readUIntLE((at += 6) - 6, 6);
  const name = (): string => {
    const length = u32();
    return payload.toString("utf8", at, (at += length));
  };
  while (at < payload.length) {
    const tag = payload[at++]!;
    if (tag <= MAX_KEYS) {
      const time = u48();
      reader.admission(time, Array.from({ length: tag }, u32));
    } else if (tag === TAG.key) {
      const id = u32();
      reader.key(name(), id);
    } else if (tag === TAG.anchor) {
      const boot = payload.toString("hex", at, (at += BOOT_BYTES));
      reader.anchor({ boot, ms: u48(), time: u48() });
    } else if (tag === TAG.reset) {
      reader.reset(u48(), u32());
    } else if (tag === TAG.counts) {
      const key = name();
      reader.counts(
        key,
        Array.from({ length: u32() }, () => [u48(), u48()] as const),
      );
    } else if (tag === TAG.start) {
      const version = payload[at++]!;
      if (version !== COUNTS_VERSION) throw new VersionError(version);
      reader.start(u48());
    } else if (tag === TAG.end) {
      reader.end(u48());
    } else {
      throw new RangeError(`it contains a record of the unknown kind ${tag}`);
    }
  }
}
