import { Problem } from "../../errors.ts";
import type { Caller } from "../../tokens/caller.ts";
import { readBytes } from "./read-json.ts";
import type { ApiDependencies, Call } from "./route.ts";

/** The most bytes of a form: a token and a few short members. */
const MAX_BYTES = 64 * 2 ** 10;
const TYPE = "application/x-www-form-urlencoded";

/** @throws {Problem} `request_invalid` if the body is not a form or is too long */
export async function readForm(call: Call, dependencies: ApiDependencies, by: Caller): Promise<URLSearchParams> {
  const [type = ""] = (call.env.incoming.headers["content-type"] ?? "").split(";", 1);
  const tooLarge = (): Problem => {
    return new Problem("request_invalid", `the body is longer than the limit of ${MAX_BYTES} bytes`);
  };
  const text = await readBytes(call, dependencies, by, { limitBytes: MAX_BYTES, tooLarge }, String);
  if (type.trim().toLowerCase() !== TYPE) throw new Problem("request_invalid", `the body must be a form, ${TYPE}`);
  return new URLSearchParams(text);
}
