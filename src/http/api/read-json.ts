import { Problem } from "../../errors.ts";
import { jsonMistake } from "../../source/json-mistakes.ts";
import { parseJson } from "../../source/json.ts";
import type { Caller } from "../../tokens/caller.ts";
import type { BodyOptions } from "../bodies.ts";
import { withEncoding } from "../encoded-body.ts";
import { memberBounds } from "./member-bounds.ts";
import type { ApiDependencies, Call } from "./route.ts";

/** The most bytes of a JSON body. Requests to the API are small. */
const MAX_BYTES = 64 * 2 ** 10;

/**
 * @param example a body that this path accepts, for the hint of a body that is none
 * @throws {Problem} `request_invalid` if the body is not JSON, is too long or is nested too deeply
 */
export async function readJson(
  call: Call,
  dependencies: ApiDependencies,
  by: Caller,
  example: string,
): Promise<unknown> {
  const tooLarge = (): Problem => {
    return new Problem("request_invalid", `the body is longer than the limit of ${MAX_BYTES} bytes`);
  };
  return await readBytes(call, dependencies, by, { limitBytes: MAX_BYTES, tooLarge }, async (bytes) => {
    try {
      return await parseJson(bytes, dependencies.config.jsonDepthLimit, by.family, memberBounds(bytes));
    } catch (error) {
      throw explained(error, bytes, call.env.incoming.headers["content-type"], `Send JSON, such as ${example}`);
    }
  });
}

/**
 * Returns the error of a body that is not JSON, with what the body is instead.
 *
 * @param hint the fix; null to keep that of the error
 */
export function explained(error: unknown, bytes: Buffer, type: string | undefined, hint: string | null): unknown {
  if (!(error instanceof Problem) || error.code !== "request_invalid" || error.options.hint !== undefined) return error;
  const other = noJson(bytes, type);
  const fix = `${other === null ? jsonMistake(error.message, bytes) : ""}${hint ?? ""}`.trim();
  return new Problem("request_invalid", other ?? error.message, { ...error.options, ...(fix !== "" && { hint: fix }) });
}

/** Names the usual bodies that are not JSON. Null for JSON with a fault. */
function noJson(bytes: Buffer, type: string = ""): string | null {
  const beginning = bytes.toString("latin1", 0, 64).trimStart();
  if (beginning === "" && bytes.length <= 64) return "the body is empty; it must be JSON";
  if (/^[{["]/.test(beginning)) return null;
  // `curl --data` declares a form for every body, so the type alone does not make a form.
  const isForm = /^multipart\//i.test(type) || /^[\w.[\]%-]+=/.test(beginning);
  return isForm ? "the body is a form; it must be JSON" : null;
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
  } catch (error) {
    throw withEncoding(error, call.env.incoming);
  } finally {
    release();
  }
}
