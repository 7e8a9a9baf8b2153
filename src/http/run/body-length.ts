import { Transform } from "node:stream";

/** Returns the `Content-Length` that a task sets, or null if the task sets none, several, or an invalid value. */
export function announcedLength(headers: readonly string[]): number | null {
  let length: number | null = null;
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index]!.toLowerCase() !== "content-length") continue;
    if (length !== null || !/^\d{1,15}$/.test(headers[index + 1]!)) return null;
    length = Number(headers[index + 1]);
  }
  return length;
}

/**
 * Passes through a body of exactly `length` bytes, and fails if the body is shorter or longer. Otherwise a client would
 * read the difference as a part of another answer.
 */
export function requireLength(length: number): Transform {
  let left = length;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      left -= chunk.length;
      if (left < 0) done(new Error(`the body is longer than its Content-Length of ${length} bytes`));
      else done(null, chunk);
    },
    flush(done) {
      done(left === 0 ? null : new Error(`the body is shorter than its Content-Length of ${length} bytes`));
    },
  });
}
