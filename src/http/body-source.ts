import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";

import { Problem } from "../errors.ts";
import { parseJson } from "../source/json.ts";
import { hasBody, readBody, wantBody } from "./read-body.ts";

export interface BodyLimits {
  /** The most bytes of a body that is read before the run. */
  readonly bytes: number;
  /** The most levels of arrays and objects. */
  readonly jsonDepth: number;
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json$/;
const FORM_TYPE = "application/x-www-form-urlencoded";

/**
 * The body of a run whose code is known without it, as it came. JSON and forms are read before the run, as far as they
 * are no longer than they may be, so that nothing is counted for what is not what it says; all else is read as the task
 * reads it.
 *
 * @returns null when there is none.
 * @throws {Problem} `request_invalid` when it breaks off, or is not the JSON that it says to be.
 */
export async function bodySource(
  request: IncomingMessage,
  response: ServerResponse,
  { bytes, jsonDepth }: BodyLimits,
): Promise<Readable | null> {
  if (!hasBody(request)) return null;
  const type = (request.headers["content-type"] ?? "").split(";", 1)[0]!.trim().toLowerCase();
  const isJson = JSON_TYPE.test(type);
  const length = Number(request.headers["content-length"] ?? Infinity);
  if (length > bytes || (!isJson && type !== FORM_TYPE)) {
    wantBody(request, response);
    return request;
  }
  const body = await readBody(request, response, bytes, () => new Problem("request_invalid", "the body is too long"));
  if (isJson) parseJson(body, jsonDepth);
  return Readable.from([body]);
}
