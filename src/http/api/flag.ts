import { Problem } from "../../errors.ts";
import { parseTarget } from "../target.ts";
import type { Call } from "./route.ts";

/**
 * Reads a parameter that is `true` or `false`.
 *
 * @returns false without the parameter
 * @throws {Problem} `request_invalid` for any other value
 */
export function readFlag(call: Call, name: string): boolean {
  const given = parseTarget(call.env.incoming.url!).query.getAll(name);
  if (given.length === 0) return false;
  if (given.length === 1 && /^(?:true|false)$/.test(given[0]!)) return given[0] === "true";
  throw new Problem("request_invalid", `${name} must be true or false, once`);
}
