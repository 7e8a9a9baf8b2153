import type { IncomingMessage } from "node:http";

import { Problem } from "../errors.ts";

/** Names the encoding of a body that could not be read: the service decodes none. */
export function withEncoding(error: unknown, { headers }: Pick<IncomingMessage, "headers">): unknown {
  const encoding = headers["content-encoding"];
  if (!(error instanceof Problem) || error.code !== "request_invalid" || encoding === undefined) return error;
  const detail = `the body has the content encoding ${JSON.stringify(encoding.slice(0, 64))}, and the service decodes none`;
  return new Problem("request_invalid", detail, { status: 415, hint: "Send the body without Content-Encoding." });
}
