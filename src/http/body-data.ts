import type { IncomingMessage, ServerResponse } from "node:http";

import { Problem } from "../errors.ts";
import { parseJson } from "../source/json.ts";
import { hasBody, readBody } from "./read-body.ts";

export interface DataLimits {
  /** The most bytes of the body. */
  readonly bytes: number;
  /** The most levels of arrays and objects. */
  readonly jsonDepth: number;
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json$/;
const FORM_TYPE = "application/x-www-form-urlencoded";

/**
 * The body of a run whose code is known without it: what it says in JSON or a form, else its text.
 *
 * @returns it as JSON, or null when there is none.
 * @throws {Problem} `request_invalid` when it is too long, breaks off, or is not the JSON that it says to be.
 */
export async function readData(
  request: IncomingMessage,
  response: ServerResponse,
  { bytes, jsonDepth }: DataLimits,
): Promise<string | null> {
  if (!hasBody(request)) return null;
  const body = await readBody(request, response, bytes, () => {
    return new Problem("request_invalid", `the body is longer than the ${bytes} bytes that are taken`);
  });
  if (body.length === 0) return null;
  const type = (request.headers["content-type"] ?? "").split(";", 1)[0]!.trim().toLowerCase();
  // Written anew: what follows it in the context must not depend on how it was written.
  if (JSON_TYPE.test(type)) return JSON.stringify(parseJson(body, jsonDepth));
  const text = body.toString();
  return JSON.stringify(type === FORM_TYPE ? fieldsOf(text) : text);
}

/** By name, those that came more than once as a list. */
function fieldsOf(text: string): Record<string, string | string[]> {
  // No field can be a member of Object.prototype.
  const fields: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    const before = fields[name];
    if (before === undefined) fields[name] = value;
    else if (Array.isArray(before)) before.push(value);
    else fields[name] = [before, value];
  }
  return fields;
}
