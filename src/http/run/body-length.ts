import { Transform } from "node:stream";

/** The length that a task gives its body, or null when it gives none, several, or what is no length. */
export function announcedLength(headers: readonly string[]): number | null {
  let length: number | null = null;
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index]!.toLowerCase() !== "content-length") continue;
    if (length !== null || !/^\d{1,15}$/.test(headers[index + 1]!)) return null;
    length = Number(headers[index + 1]);
  }
  return length;
}

/** Lets a body of so many bytes through, and breaks when it is shorter or longer: the rest would be read as another answer. */
export function exactly(length: number): Transform {
  let left = length;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      left -= chunk.length;
      if (left < 0) done(new Error(`a body longer than the ${length} bytes that were announced`));
      else done(null, chunk);
    },
    flush(done) {
      done(left === 0 ? null : new Error(`a body shorter than the ${length} bytes that were announced`));
    },
  });
}
