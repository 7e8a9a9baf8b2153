import { Problem } from "../errors.ts";
import { parseJson } from "../source/json.ts";
import { readBody } from "./read-body.ts";
import type { Call } from "./resources.ts";

/** What administrators send is small. */
const MAX_BYTES = 64 * 2 ** 10;

/** @throws {Problem} `request_invalid` when the body is no JSON, too long or too deep. */
export async function readJson(call: Call, maxDepth: number): Promise<unknown> {
  const body = await readBody(call.env.incoming, call.env.outgoing, MAX_BYTES, () => {
    return new Problem("request_invalid", `the body is longer than the ${MAX_BYTES} bytes that are taken`);
  });
  return parseJson(body, maxDepth);
}
