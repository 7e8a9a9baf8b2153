import { readSync } from "node:fs";
import { crc32 } from "node:zlib";

/**
 * The files of the store are frames: `length u32 | crc32 of the payload u32 | crc32 of these eight bytes u32 | payload`,
 * little endian. The header has a sum of its own, for a wrong length would make damage look like a torn end.
 */
export const FRAME_HEADER_BYTES = 12;

const READ_BYTES = 2 ** 20;

/** Fills in the header of a frame whose payload stands behind `FRAME_HEADER_BYTES` free bytes. */
export function seal(frame: Buffer): Buffer {
  frame.writeUInt32LE(frame.length - FRAME_HEADER_BYTES, 0);
  frame.writeUInt32LE(crc32(frame.subarray(FRAME_HEADER_BYTES)), 4);
  frame.writeUInt32LE(crc32(frame.subarray(0, 8)), 8);
  return frame;
}

/** What reading a file came to. */
export interface FramesEnd {
  /** Bytes of whole frames, from the start. */
  bytes: number;
  /**
   * Why reading stopped. `torn`: the file ends inside a frame, as a crash leaves it, or in zeros, as a loss of power does
   * where the length of a file reaches the disk before its bytes. `damaged`: anything else.
   */
  end: "whole" | "torn" | "damaged";
}

/** Reads a file frame by frame, from its start. The payload is valid during the call only. */
export function readFrames(file: number, onPayload: (payload: Buffer) => void): FramesEnd {
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
  const restIsZero = (): boolean => {
    while (end > start) {
      if (buffer.subarray(start, end).some((byte) => byte !== 0)) return false;
      start = end;
      fill(1);
    }
    return true;
  };
  while (fill(FRAME_HEADER_BYTES)) {
    const header = buffer.subarray(start, start + FRAME_HEADER_BYTES);
    const length = header.readUInt32LE(0);
    if (header.readUInt32LE(8) !== crc32(header.subarray(0, 8))) {
      return { bytes, end: restIsZero() ? "torn" : "damaged" };
    }
    const sum = header.readUInt32LE(4);
    if (!fill(FRAME_HEADER_BYTES + length)) return { bytes, end: "torn" };
    start += FRAME_HEADER_BYTES;
    const payload = buffer.subarray(start, start + length);
    if (crc32(payload) !== sum) return { bytes, end: "damaged" };
    onPayload(payload);
    start += length;
    bytes += FRAME_HEADER_BYTES + length;
  }
  return { bytes, end: end > start ? "torn" : "whole" };
}
