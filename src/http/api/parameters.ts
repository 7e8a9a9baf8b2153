import { Problem } from "../../errors.ts";
import { parseTarget } from "../target.ts";

/** The filter by labels: all that are given must hold. */
const REPEATABLE = "label";

/**
 * Returns the query of a request.
 *
 * @param target the request target (RFC 9112, section 3.2)
 * @param names the names of the parameters that the query may contain, besides `key`; each once, except for `label`
 * @throws {Problem} `request_invalid` for any other parameter
 */
export function readParameters(
  target: string,
  names: readonly string[],
  hint: string = hintOf(names),
): URLSearchParams {
  const { query } = parseTarget(target);
  for (const name of query.keys()) {
    if (name === "key") continue;
    if (!names.includes(name)) {
      const shown = JSON.stringify(name.slice(0, 100));
      throw new Problem("request_invalid", `the query contains the unknown parameter ${shown}`, { hint });
    }
    if (name !== REPEATABLE && query.getAll(name).length > 1) {
      throw new Problem("request_invalid", `the query contains ${name} more than once`, { hint });
    }
  }
  return query;
}

function hintOf(names: readonly string[]): string {
  return names.length === 0 ? "This path takes no parameters." : `The parameters here are ${names.join(", ")}.`;
}
