import type { IncomingMessage } from "node:http";
import { pipeline, type Readable, type Transform } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";

import { FetchFault } from "./fetch-fault.ts";

/** The content codings that are understood, as an `Accept-Encoding`. */
export const ENCODINGS: string = "gzip, deflate, br, zstd";

/**
 * Reads a whole body and undoes its content coding (RFC 9110, 8.4).
 *
 * @param maxBytes after decompression; a bomb stops there, having cost no more memory than this.
 * @throws {FetchFault} or the error of the stream when the body breaks.
 */
export async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = (): FetchFault =>
    new FetchFault("task_url_too_large", `gave more than the ${maxBytes} bytes that a task may have`);
  if (Number(response.headers["content-length"]) > maxBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of decoded(response) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

function decoded(response: IncomingMessage): Readable {
  const coding = (response.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (coding === "identity" || coding === "") return response;
  // A chain of codings is refused with the unknown ones: each would multiply the work of a bomb.
  if (!Object.hasOwn(DECODERS, coding)) {
    throw new FetchFault("task_url_unreachable", `answered in a content coding other than ${ENCODINGS}`);
  }
  // The callback may stay silent: a fault of either stream comes out of the one that is read.
  return pipeline(response, DECODERS[coding]!(), () => {});
}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  // RFC 9659: windows of 8 MiB for everybody; zstd itself would allow a sender to demand 128 MiB.
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: 23 } }),
};
