import { Problem } from "../../errors.ts";
import { readParameters } from "./parameters.ts";
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
  const query = readParameters(call.env.incoming.url!, ["cursor", "limit", ...filters], HINT);
  const limit = query.get("limit") ?? String(DEFAULT_ENTRIES);
  if (!/^[1-9]\d{0,3}$/.test(limit) || Number(limit) > MAX_ENTRIES) {
    throw new Problem("request_invalid", `limit must be a whole number from 1 to ${MAX_ENTRIES}`, { hint: HINT });
  }
  return { after: query.get("cursor") ?? "", count: Number(limit), query };
}
