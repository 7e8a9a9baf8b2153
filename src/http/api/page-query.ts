import { Problem } from "../../errors.ts";
import { parseTarget } from "../target.ts";
import type { Call } from "./route.ts";

const DEFAULT_ENTRIES = 100;
const MAX_ENTRIES = 1_000;

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
  const { query } = parseTarget(call.env.incoming.url!);
  for (const name of query.keys()) {
    if (!["key", "cursor", "limit", ...filters].includes(name)) {
      throw invalid(`the query contains the unknown parameter ${JSON.stringify(name.slice(0, 100))}`);
    }
    if (name !== "key" && query.getAll(name).length > 1) throw invalid(`the query contains ${name} more than once`);
  }
  const limit = query.get("limit") ?? String(DEFAULT_ENTRIES);
  if (!/^[1-9]\d{0,3}$/.test(limit) || Number(limit) > MAX_ENTRIES) {
    throw invalid(`limit must be a whole number from 1 to ${MAX_ENTRIES}`);
  }
  return { after: query.get("cursor") ?? "", count: Number(limit), query };
}

function invalid(detail: string): Problem {
  return new Problem("request_invalid", detail, {
    hint: "cursor is the member next of the previous page; limit is the number of entries.",
  });
}
