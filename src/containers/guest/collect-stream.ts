import { DATA_FRAME_COST_BYTES } from "../../wire/messages.ts";
import type { RunListener } from "./guest-run.ts";

/** What ends the collection of a stream without its bytes. */
type Lack = "too much" | "no stream";

/** Collects what a run of the service itself streams. The bytes are hostile. */
export function collectStream(
  { resolve, reject }: PromiseWithResolvers<Buffer>,
  {
    maxBytes,
    grant,
    fault,
  }: {
    readonly maxBytes: number;
    /** Lets the guest send more bytes. */
    readonly grant: (bytes: number) => void;
    readonly fault: (lack: Lack) => Error;
  },
): RunListener {
  const pieces: Buffer[] = [];
  let size = 0;
  return {
    head: ignore,
    data: (piece) => {
      size += piece.length;
      if (size > maxBytes) return reject(fault("too much"));
      // A view of the bytes of a read.
      pieces.push(Buffer.from(piece));
      grant(piece.length + DATA_FRAME_COST_BYTES);
    },
    end: () => resolve(Buffer.concat(pieces)),
    result: () => reject(fault("no stream")),
    fault: reject,
    over: ignore,
    refused: ignore,
    usesEgress: ignore,
    logSink: { log: ignore, lateError: ignore },
  };
}

function ignore(): void {}
