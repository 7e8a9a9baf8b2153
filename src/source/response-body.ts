import type { IncomingMessage } from "node:http";
import { pipeline, type Readable, type Transform } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";

import { FetchFault } from "./fetch-fault.ts";

/** The supported content codings, as an `Accept-Encoding`. */
export const ENCODINGS: string = "gzip, deflate, br, zstd";

/**
 * Reads a whole body and decodes its content coding (RFC 9110, 8.4).
 *
 * @param maxBytes the maximum number of bytes after decompression, which also limits the memory that a decompression
 *   bomb takes.
 * @throws {FetchFault} or the error of the stream.
 */
export async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = (): FetchFault =>
    new FetchFault("task_url_too_large", `returned more than the ${maxBytes} bytes that a task may have`);
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
  // Rejects chains of codings too, because each coding would multiply the work of a decompression bomb.
  if (!Object.hasOwn(DECODERS, coding)) {
    throw new FetchFault("task_url_unreachable", `answered in a content coding other than ${ENCODINGS}`);
  }
  // The callback is empty, because the returned stream emits the errors of both streams.
  return pipeline(response, DECODERS[coding]!(), () => {});
}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  // RFC 9659 limits windows to 8 MiB. Without this limit a sender could demand 128 MiB.
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: 23 } }),
};
