import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";

import { Problem } from "../../errors.ts";
import { checkJson } from "../../source/json.ts";
import type { Bodies, MemoryOwner } from "../bodies.ts";
import type { BodyHold } from "../body-hold.ts";
import { hasBody, wantBody } from "../read-body.ts";

export interface BodyLimits {
  /** The largest body that is read before the run. */
  readonly bytes: number;
  /** The most levels of arrays and objects. */
  readonly jsonDepth: number;
}

/** A body that a task reads. */
export interface RunBody {
  readonly source: Readable;
  /** The whole body, if it was read before the run; otherwise null. */
  readonly bytes: Buffer | null;
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json$/;
const FORM_TYPE = "application/x-www-form-urlencoded";

/**
 * Opens the body of a run whose code does not come from the body. JSON and forms up to the limit are read before the run:
 * a body that is not what its Content-Type states is refused before anything is counted. Every other body is read while the
 * task reads it.
 *
 * @param hold receives a body that is read before the run
 * @returns null when there is no body.
 * @throws {Problem} `request_invalid` when the body ends early, or is not valid JSON.
 */
export async function openRunBody(
  request: IncomingMessage,
  response: ServerResponse,
  { bytes: limitBytes, jsonDepth }: BodyLimits,
  bodies: Bodies,
  owner: MemoryOwner,
  hold: BodyHold,
): Promise<RunBody | null> {
  if (!hasBody(request)) return null;
  const type = (request.headers["content-type"] ?? "").split(";", 1)[0]!.trim().toLowerCase();
  const isJson = JSON_TYPE.test(type);
  const length = Number(request.headers["content-length"] ?? Infinity);
  if (length > limitBytes || (!isJson && type !== FORM_TYPE)) {
    wantBody(request, response);
    return { source: request, bytes: null };
  }
  const bytes = hold.keep(await bodies.read(request, response, { limitBytes, tooLarge, owner }));
  try {
    if (isJson) await checkJson(bytes, jsonDepth, owner.name);
  } catch (error) {
    throw isJson ? withHint(error) : error;
  }
  return { source: Readable.from([bytes]), bytes };
}

/** Adds what to do to the fault of a body that is not JSON. */
function withHint(error: unknown): unknown {
  if (!(error instanceof Problem) || error.options.hint !== undefined) return error;
  const hint =
    "The Content-Type is a type of JSON. Names and texts of JSON are in double quotes. With text/plain the task receives the body as text.";
  return new Problem(error.code, error.message, { ...error.options, hint });
}

function tooLarge(): Problem {
  return new Problem("request_invalid", "the body is too long");
}
