import { Problem } from "../errors.ts";
import { parseJson } from "../source/json.ts";
import type { Caller } from "../tokens/caller.ts";
import type { ApiDependencies, Call } from "./resources.ts";

/** What administrators send is small. */
const MAX_BYTES = 64 * 2 ** 10;

/** @throws {Problem} `request_invalid` when the body is no JSON, too long or too deep. */
export async function readJson(call: Call, dependencies: ApiDependencies, by: Caller): Promise<unknown> {
  const bytes = await readBytes(call, dependencies, by, MAX_BYTES, () => {
    return new Problem("request_invalid", `the body is longer than the ${MAX_BYTES} bytes that are taken`);
  });
  return await parseJson(bytes, dependencies.config.jsonDepthLimit);
}

/** A body that is read and used up at once. */
export async function readBytes(
  call: Call,
  { bodies }: Pick<ApiDependencies, "bodies">,
  by: Caller,
  limitBytes: number,
  tooLarge: () => Problem,
): Promise<Buffer> {
  const body = await bodies.read(call.env.incoming, call.env.outgoing, { limitBytes, tooLarge, owner: by.memory });
  body.release();
  return body.bytes;
}
