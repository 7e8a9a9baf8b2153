import { Problem } from "../../errors.ts";
import { parseTarget } from "../target.ts";
import type { Call } from "./route.ts";

const DEFAULT_ENTRIES = 100;
const MAX_ENTRIES = 1_000;
const HINT = "cursor is the member next of the previous page; limit is the number of entries.";

/**
 * Reads which page of a list a request selects.
 *
 * @param filters the names of other parameters that the query may contain
 * @returns the cursor after which the page begins, the most entries of the page, and the whole query
 * @throws {Problem} `request_invalid` for any other parameter or value
 */
export function pageQuery(
  call: Call,
  filters: readonly string[] = [],
): { after: string; count: number; query: URLSearchParams } {
  const query = readParameters(call, ["cursor", "limit", ...filters], HINT);
  const limit = query.get("limit") ?? String(DEFAULT_ENTRIES);
  if (!/^[1-9]\d{0,3}$/.test(limit) || Number(limit) > MAX_ENTRIES) {
    throw new Problem("request_invalid", `limit must be a whole number from 1 to ${MAX_ENTRIES}`, { hint: HINT });
  }
  return { after: query.get("cursor") ?? "", count: Number(limit), query };
}

/**
 * Returns the query of a request.
 *
 * @param names the names of the parameters that the query may contain, each once
 * @throws {Problem} `request_invalid` for any other parameter
 */
export function readParameters(call: Call, names: readonly string[], hint?: string): URLSearchParams {
  const { query } = parseTarget(call.env.incoming.url!);
  const invalid = (detail: string): Problem => {
    return new Problem("request_invalid", detail, hint === undefined ? {} : { hint });
  };
  for (const name of query.keys()) {
    if (name === "key") continue;
    if (!names.includes(name)) {
      throw invalid(`the query contains the unknown parameter ${JSON.stringify(name.slice(0, 100))}`);
    }
    if (query.getAll(name).length > 1) throw invalid(`the query contains ${name} more than once`);
  }
  return query;
}
