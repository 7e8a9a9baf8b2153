import type { IncomingMessage } from "node:http";

/**
 * The chunks that may be of any size, the bytes that each further chunk has on average, and the time after which one more may be small.
 * A node sends chunks of kilobytes, and small events at most fifty times a second.
 */
const FREE_CHUNKS = 2_000;
const LEAST_CHUNK_BYTES = 64;
const MS_PER_SMALL_CHUNK = 10;
/** The bytes that wait for the reader until no more are read. */
const MAX_WAITING_BYTES = 256 * 2 ** 10;

const CUT = "its answer is cut";
const nothing = (): void => {};

/**
 * Returns the chunks of an answer as they arrive. Node's parser calls a function for each chunk of the transfer coding, so that chunks
 * of one byte take hundreds of times as long as their bytes in one. So they are counted when they arrive.
 *
 * @param reserve called with the bytes of each chunk when it arrives. @throws to end the answer
 * @throws {Error} if the answer is cut or its chunks are too small, and the error of `reserve`
 */
export async function* arrivingChunks(
  response: IncomingMessage,
  reserve: (bytes: number) => void = nothing,
): AsyncGenerator<Buffer> {
  const beganMs = performance.now();
  const waiting: Buffer[] = [];
  let waitingBytes = 0;
  let count = 0;
  let bytes = 0;
  let isOver = response.destroyed;
  let fault: Error | null = isOver ? new Error(CUT) : null;
  let wake: () => void = nothing;
  const end = (error: Error | null): void => {
    if (isOver) return;
    isOver = true;
    fault = error;
    wake();
  };
  const receive = (chunk: Buffer): void => {
    count += 1;
    bytes += chunk.length;
    waitingBytes += chunk.length;
    const most = FREE_CHUNKS + bytes / LEAST_CHUNK_BYTES;
    if (count > most && count > most + (performance.now() - beganMs) / MS_PER_SMALL_CHUNK)
      throw new Error("its answer has chunks that are too small");
    reserve(chunk.length);
    waiting.push(chunk);
    if (waitingBytes > MAX_WAITING_BYTES) response.pause();
    wake();
  };
  response.on("data", (chunk: Buffer) => {
    // The parser goes on with the bytes that it has.
    if (isOver) return;
    try {
      receive(chunk);
    } catch (error) {
      end(error as Error);
      response.destroy();
    }
  });
  response.on("end", () => end(null));
  response.on("error", end);
  response.on("close", () => end(new Error(CUT)));
  for (;;) {
    if (fault) throw fault;
    if (waiting.length > 0) {
      const arrived = waiting.splice(0);
      waitingBytes = 0;
      yield* arrived;
      response.resume();
    } else if (isOver) return;
    else await new Promise<void>((resolve) => (wake = resolve));
  }
}
