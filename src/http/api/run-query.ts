import { Problem } from "../../errors.ts";
import { parseCursor, type RunQuery } from "../../records/query.ts";
import { RUN_STATUSES, type RunStatus } from "../../records/record.ts";
import type { Caller } from "../../tokens/caller.ts";
import { parseDuration } from "../../units.ts";
import { containerName, taskName } from "../target.ts";
import { mustRead } from "./may-read.ts";
import { pageQuery } from "./page-query.ts";
import { readParameters } from "./parameters.ts";
import type { Call } from "./route.ts";
import { parseTime } from "./time-query.ts";

const FILTERS: readonly string[] = ["task", "status", "since", "until", "q"];
const FAILURE_FILTERS: readonly string[] = ["container", "task", "since"];
const MAX_TEXT_CHARS = 200;

/**
 * Reads which page of runs a request selects.
 *
 * @param container the container of the path; null if the query may contain it
 * @throws {Problem} `request_invalid`, which names the parameter; `container_invalid`, `token_forbidden`
 */
export function readListQuery(call: Call, container: string | null, by: Caller): RunQuery {
  const { after, count, query } = pageQuery(call, container === null ? ["container", ...FILTERS] : FILTERS);
  const filters = readFilters(query, Date.now());
  const page = { after: after === "" ? null : readCursor(after), count };
  return permitted({ ...filters, container: container ?? filters.container, ...page }, by);
}

/** Reads which failures a request selects. @throws {Problem} as `readListQuery` does */
export function readFailureQuery(call: Call, by: Caller): RunQuery {
  const filters = readFilters(readParameters(call.env.incoming.url!, FAILURE_FILTERS), Date.now());
  return permitted({ ...filters, after: null, count: 0 }, by);
}

function permitted(query: Omit<RunQuery, "permitted">, by: Caller): RunQuery {
  mustRead(by, query.container);
  return { ...query, permitted: by.claims.admin ? ["*"] : by.claims.containers };
}

function readFilters(query: URLSearchParams, nowMs: number): Omit<RunQuery, "permitted" | "after" | "count"> {
  const read = <T>(name: string, parse: (text: string, name: string) => T): T | null => {
    const text = query.get(name);
    return text === null ? null : parse(text, name);
  };
  const readTime = (text: string, name: string): number => timeOf(text, name, nowMs);
  return {
    container: read("container", containerName),
    task: read("task", taskName),
    statuses: read("status", readStatuses),
    sinceMs: read("since", readTime),
    untilMs: read("until", readTime),
    text: read("q", readText),
  };
}

function readStatuses(text: string): RunStatus[] {
  const names = text.split(",");
  for (const name of names) {
    if (!(RUN_STATUSES as readonly string[]).includes(name)) {
      throw invalid(`status contains ${shown(name)}`, `A status is one of ${RUN_STATUSES.join(", ")}.`);
    }
  }
  return [...new Set(names as RunStatus[])];
}

function timeOf(text: string, name: string, nowMs: number): number {
  const ms = parseTime(text) ?? nowMs - durationOf(text);
  if (!Number.isNaN(ms)) return ms;
  throw invalid(
    `${name} is ${shown(text)}, which is not a time`,
    "Send a time such as 2026-11-23T10:00:00Z, or a duration before now, such as 24h.",
  );
}

/** Returns milliseconds, or NaN if the text is not a duration. */
function durationOf(text: string): number {
  try {
    return parseDuration(text);
  } catch {
    return Number.NaN;
  }
}

function readText(text: string): string | null {
  if (text.length > MAX_TEXT_CHARS) {
    throw invalid(`q has ${text.length} characters; at most ${MAX_TEXT_CHARS} are accepted`);
  }
  return text === "" ? null : text;
}

function readCursor(text: string): RunQuery["after"] {
  const cursor = parseCursor(text);
  if (cursor) return cursor;
  throw invalid(`cursor is ${shown(text)}, which is no cursor`, "Send the member next of the previous page.");
}

function invalid(detail: string, hint?: string): Problem {
  return new Problem("request_invalid", detail, hint === undefined ? {} : { hint });
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
