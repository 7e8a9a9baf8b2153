import { fstatSync, readSync } from "node:fs";
import { crc32 } from "node:zlib";

/**
 * Each file of the store is a list of frames: `length u32 | crc32 of the payload u32 | crc32 of these eight bytes u32 |
 * payload`, little endian. The header has its own checksum, because a wrong length would make damage look like a torn end.
 */
export const FRAME_HEADER_BYTES = 12;

const READ_BYTES = 2 ** 20;
/** The number of bytes that a disk writes as a whole or not at all. */
const SECTOR_BYTES = 512;

/** Fills in the header of a frame. The payload follows `FRAME_HEADER_BYTES` free bytes. */
export function seal(frame: Buffer): Buffer {
  frame.writeUInt32LE(frame.length - FRAME_HEADER_BYTES, 0);
  frame.writeUInt32LE(crc32(frame.subarray(FRAME_HEADER_BYTES)), 4);
  frame.writeUInt32LE(crc32(frame.subarray(0, 8)), 8);
  return frame;
}

/** The result of reading a file. */
export interface FramesEnd {
  /** Bytes of whole frames, from the start. */
  bytes: number;
  /**
   * Why reading stopped. `torn`: the file ends inside a frame, as after a crash, or in zeros that begin inside one. A loss of
   * power leaves zeros when the length of a file reaches the disk before its bytes. `damaged`: anything else.
   */
  end: "whole" | "torn" | "damaged";
}

/** Reads a file frame by frame from its start. A payload is valid only during the call; its frame begins at `at`. */
export function readFrames(file: number, onPayload: (payload: Buffer, at: number) => void): FramesEnd {
  let buffer = Buffer.allocUnsafe(READ_BYTES);
  let start = 0;
  let end = 0;
  let bytes = 0;
  const fill = (wanted: number): boolean => {
    if (end - start >= wanted) return true;
    const target = wanted > buffer.length ? Buffer.allocUnsafe(wanted) : buffer;
    buffer.copy(target, 0, start, end);
    buffer = target;
    end -= start;
    start = 0;
    while (end < wanted) {
      const read = readSync(file, buffer, end, buffer.length - end, null);
      if (read === 0) return false;
      end += read;
    }
    return true;
  };
  while (fill(FRAME_HEADER_BYTES)) {
    const header = buffer.subarray(start, start + FRAME_HEADER_BYTES);
    const length = header.readUInt32LE(0);
    if (header.readUInt32LE(8) !== crc32(header.subarray(0, 8))) {
      return { bytes, end: isCutByPower(file, bytes, bytes + FRAME_HEADER_BYTES) ? "torn" : "damaged" };
    }
    const sum = header.readUInt32LE(4);
    if (!fill(FRAME_HEADER_BYTES + length)) return { bytes, end: "torn" };
    start += FRAME_HEADER_BYTES;
    const payload = buffer.subarray(start, start + length);
    const next = bytes + FRAME_HEADER_BYTES + length;
    if (crc32(payload) !== sum) return { bytes, end: isCutByPower(file, bytes, next) ? "torn" : "damaged" };
    onPayload(payload, bytes);
    start += length;
    bytes = next;
  }
  return { bytes, end: end > start ? "torn" : "whole" };
}

/** Bytes in which no valid frame begins. */
export interface Gap {
  at: number;
  bytes: number;
}

/**
 * Reads every valid frame, including frames after damage: it searches the damaged bytes for the next valid header. A text of
 * a caller cannot pass for a header, because the length in a header contains zeros.
 */
export function salvageFrames(content: Buffer, onPayload: (payload: Buffer, at: number) => void): Gap[] {
  const gaps: Gap[] = [];
  let at = 0;
  while (at < content.length) {
    const end = frameEnd(content, at);
    if (end > 0) {
      onPayload(content.subarray(at + FRAME_HEADER_BYTES, end), at);
      at = end;
      continue;
    }
    const gapAt = at;
    do at++;
    while (at < content.length && frameEnd(content, at) === 0);
    gaps.push({ at: gapAt, bytes: at - gapAt });
  }
  return gaps;
}

/** Returns where the frame that begins at `at` ends; 0 if none begins there. */
function frameEnd(content: Buffer, at: number): number {
  const payloadAt = at + FRAME_HEADER_BYTES;
  if (payloadAt > content.length) return 0;
  const end = payloadAt + content.readUInt32LE(at);
  if (end > content.length) return 0;
  if (content.readUInt32LE(at + 8) !== crc32(content.subarray(at, at + 8))) return 0;
  return content.readUInt32LE(at + 4) === crc32(content.subarray(payloadAt, end)) ? end : 0;
}

/**
 * Returns whether an invalid frame is the last of a file and lacks the sectors that a loss of power kept from the disk. These
 * sectors are zero to the end of the file. An acknowledged frame that lost its last sectors in another way looks the same.
 *
 * @param start the offset of the frame
 * @param end the offset of the frame's end, or of its header's end if the header is invalid
 */
function isCutByPower(file: number, start: number, end: number): boolean {
  const { size } = fstatSync(file);
  const written = lengthWithoutZeros(file, size, start);
  const firstLost = Math.ceil(written / SECTOR_BYTES) * SECTOR_BYTES;
  return written === start || firstLost < Math.min(end, size);
}

/** @returns the length without the zeros at the end; `start` if only zeros follow it. */
function lengthWithoutZeros(file: number, size: number, start: number): number {
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  for (let end = size; end > start;) {
    const from = Math.max(start, end - READ_BYTES);
    const read = readSync(file, buffer, 0, end - from, from);
    const last = buffer.subarray(0, read).findLastIndex((byte) => byte !== 0);
    if (last >= 0) return from + last + 1;
    end = from;
  }
  return start;
}
