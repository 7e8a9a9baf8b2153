import { Problem } from "../../errors.ts";
import { parseTarget } from "../target.ts";
import type { Call } from "./route.ts";

const DEFAULT_ENTRIES = 100;
const MAX_ENTRIES = 1_000;

/**
 * Which page of a list a request asks for.
 *
 * @param filters the names that its query may have besides
 * @returns after what, how many, and the query for the rest
 * @throws {Problem} `request_invalid` for a query that asks for anything else.
 */
export function pageQuery(
  call: Call,
  filters: readonly string[] = [],
): { after: string; count: number; query: URLSearchParams } {
  const { query } = parseTarget(call.env.incoming.url!);
  for (const name of query.keys()) {
    if (!["key", "cursor", "limit", ...filters].includes(name)) {
      throw invalid(`the query has ${JSON.stringify(name.slice(0, 100))}, which is not known here`);
    }
    if (name !== "key" && query.getAll(name).length > 1) throw invalid(`${name} is given more than once`);
  }
  const limit = query.get("limit") ?? String(DEFAULT_ENTRIES);
  if (!/^[1-9]\d{0,3}$/.test(limit) || Number(limit) > MAX_ENTRIES) {
    throw invalid(`limit must be a whole number from 1 to ${MAX_ENTRIES}`);
  }
  return { after: query.get("cursor") ?? "", count: Number(limit), query };
}

function invalid(detail: string): Problem {
  return new Problem("request_invalid", detail, {
    hint: "cursor is the next of the page before; limit is its length.",
  });
}
