import { Problem } from "../../errors.ts";
import { parseJson } from "../../source/json.ts";
import type { Caller } from "../../tokens/caller.ts";
import type { BodyOptions } from "../bodies.ts";
import type { ApiDependencies, Call } from "./route.ts";

/** The most bytes of a JSON body. Requests to the API are small. */
const MAX_BYTES = 64 * 2 ** 10;

/** @throws {Problem} `request_invalid` if the body is not JSON, is too long or is nested too deeply */
export async function readJson(call: Call, dependencies: ApiDependencies, by: Caller): Promise<unknown> {
  const tooLarge = (): Problem => {
    return new Problem("request_invalid", `the body is longer than the limit of ${MAX_BYTES} bytes`);
  };
  return await readBytes(call, dependencies, by, { limitBytes: MAX_BYTES, tooLarge }, (bytes) => {
    return parseJson(bytes, dependencies.config.jsonDepthLimit, by.family);
  });
}

/**
 * Reads a body and parses it. The body counts against its owner until it is parsed, because large bodies wait for each
 * other to be parsed, and any number of callers can send one.
 */
export async function readBytes<Parsed>(
  call: Call,
  { bodies }: Pick<ApiDependencies, "bodies">,
  by: Caller,
  limits: Pick<BodyOptions, "limitBytes" | "tooLarge">,
  parse: (bytes: Buffer) => Promise<Parsed> | Parsed,
): Promise<Parsed> {
  const { bytes, release } = await bodies.read(call.env.incoming, call.env.outgoing, { ...limits, owner: by.memory });
  try {
    return await parse(bytes);
  } finally {
    release();
  }
}
