import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";

import { Problem } from "../../errors.ts";
import { checkJson } from "../../source/json.ts";
import type { Bodies, MemoryOwner } from "../bodies.ts";
import { hasBody, wantBody } from "../read-body.ts";

export interface BodyLimits {
  /** The most bytes of a body that is read before the run. */
  readonly bytes: number;
  /** The most levels of arrays and objects. */
  readonly jsonDepth: number;
}

/** A body that a task reads, and what it holds until the run has it. */
export interface RunBody {
  readonly source: Readable;
  readonly release: () => void;
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
  { bytes: limitBytes, jsonDepth }: BodyLimits,
  bodies: Bodies,
  owner: MemoryOwner,
): Promise<RunBody | null> {
  if (!hasBody(request)) return null;
  const type = (request.headers["content-type"] ?? "").split(";", 1)[0]!.trim().toLowerCase();
  const isJson = JSON_TYPE.test(type);
  const length = Number(request.headers["content-length"] ?? Infinity);
  if (length > limitBytes || (!isJson && type !== FORM_TYPE)) {
    wantBody(request, response);
    return { source: request, release: () => {} };
  }
  const { bytes, release } = await bodies.read(request, response, { limitBytes, tooLarge, owner });
  try {
    if (isJson) await checkJson(bytes, jsonDepth, owner.name);
  } catch (error) {
    release();
    throw error;
  }
  return { source: Readable.from([bytes]), release };
}

function tooLarge(): Problem {
  return new Problem("request_invalid", "the body is too long");
}
