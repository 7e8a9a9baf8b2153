import { z } from "zod";

import { type MemberFault, membersProblem, schemaFaults } from "../../members.ts";
import { didYouMean } from "../../nearest.ts";
import { formatSize, parseDuration, parseSize } from "../../units.ts";
import { ownText } from "../target.ts";

/** The options of a run that is answered with its record. */
export interface RecordOptions {
  /** Infinite if the request sets no timeout. */
  readonly timeoutMs: number;
  /** The caller's name for the submitted text, or null. */
  readonly file: string | null;
  /** The bytes of a result that the record shows as a whole; null for the default. */
  readonly maxResult: number | null;
  /** The query that the task receives, without its question mark. */
  readonly query: string;
}

const MIN_TIMEOUT_MS = 10;
/** Node's timers have 31 bits. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
const MAX_FILE_CHARS = 255;
const MAX_QUERY_CHARS = 16_384;
/** The characters of an unknown name in an answer. */
const MAX_NAME_CHARS = 64;

/** The names of options in the query of the request. `task` names the task to run. */
const IN_QUERY = ["timeout", "file", "maxResult"];
const OTHERS = ["key", "task"];
const NAMES = [...IN_QUERY, "task"];
const OPTIONS_HINT = `The options are ${NAMES.join(", ")}. The query of the code is a member of the envelope: {"code": "...", "query": {"a": "6"}}.`;
/** What other services call a run that answers before it ends. */
const IN_BACKGROUND = new Set(["async", "background", "detach", "wait", "sync"]);
const BACKGROUND_HINT =
  "The service answers when the run has ended, and cancels the run if its client disconnects: it starts no run in the background. GET /api/runs/{container}/events follows runs.";
/** The names of options in the envelope. */
export const ENVELOPE_OPTIONS: ReadonlySet<string> = new Set([...IN_QUERY, "query"]);

const TIMEOUT = `must be a duration such as 500ms or 5s, from ${MIN_TIMEOUT_MS}ms to 24d`;
const FILE = `must be a name of 1 to ${MAX_FILE_CHARS} characters without control characters`;
const MAX_RESULT = "must be a size such as 256KiB or 2MiB, or max";
/** The value of `maxResult` for the whole of any result. Callers do not know the limit of the operator. */
const WHOLE = "max";
const QUERY = `must be a query such as "a=1&b=2" of at most ${MAX_QUERY_CHARS} characters, or an object of strings by name`;

interface Given {
  timeout?: number;
  file?: string;
  maxResult?: number;
  query?: string;
}

const timeout = z.string(TIMEOUT).transform((text, context) => {
  const milliseconds = attempt(() => parseDuration(text));
  if (milliseconds !== null && milliseconds >= MIN_TIMEOUT_MS && milliseconds <= MAX_TIMEOUT_MS) return milliseconds;
  context.addIssue({ code: "custom", message: TIMEOUT });
  return z.NEVER;
});

const file = z
  .string(FILE)
  .refine(
    (name) => name.length >= 1 && name.length <= MAX_FILE_CHARS && !/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u.test(name),
    FILE,
  );

const maxResult = z.string(MAX_RESULT).transform((text, context) => {
  const bytes = text === WHOLE ? Infinity : attempt(() => parseSize(text));
  if (bytes !== null) return bytes;
  context.addIssue({ code: "custom", message: MAX_RESULT });
  return z.NEVER;
});

const query = z
  .unknown()
  .transform((input, context) => {
    const text = queryText(input);
    if (text !== null && text.length <= MAX_QUERY_CHARS) return text;
    context.addIssue({ code: "custom", message: QUERY });
    return z.NEVER;
  })
  .meta({ type: ["string", "object"], description: QUERY });

/** The options of a run that is answered with its record. */
export const RECORD_OPTIONS: z.ZodType<Given> = z.strictObject({
  timeout: z.exactOptional(timeout),
  file: z.exactOptional(file),
  maxResult: z.exactOptional(maxResult),
  query: z.exactOptional(query),
});

/**
 * Reads the options in the query of the request.
 *
 * @param resultLimit the most bytes of a result
 * @throws {Problem} `request_invalid` for an unknown or repeated name and for an invalid value.
 */
export function readQueryOptions(search: URLSearchParams, resultLimit: number): RecordOptions {
  const given: Record<string, string> = {};
  const found = new Set<string>();
  const faults: MemberFault[] = [];
  for (const [name, value] of search) {
    if (!IN_QUERY.includes(name) && !OTHERS.includes(name)) {
      faults.push({
        member: name.slice(0, MAX_NAME_CHARS),
        detail: `is no option${didYouMean(name, NAMES)}`,
        known: NAMES,
      });
      break;
    }
    if (name !== "key" && found.has(name)) faults.push({ member: name, detail: "occurs more than once" });
    found.add(name);
    if (IN_QUERY.includes(name)) given[name] = value;
  }
  return optionsOf("the query", given, resultLimit, faults);
}

/**
 * Adds the options in the envelope to those in the query.
 *
 * @throws {Problem} `request_invalid` for an invalid value, and for an option that is in both.
 */
export function withEnvelopeOptions(
  inQuery: RecordOptions,
  members: Readonly<Record<string, unknown>>,
  resultLimit: number,
): RecordOptions {
  const both = Object.keys(members).filter((name) => isSet(inQuery, name));
  const twice = both.map((member) => ({ member, detail: "is in the query too; it may be in one of them" }));
  const own = optionsOf("the envelope", members, resultLimit, twice);
  return {
    timeoutMs: Math.min(inQuery.timeoutMs, own.timeoutMs),
    file: own.file ?? inQuery.file,
    maxResult: own.maxResult ?? inQuery.maxResult,
    query: own.query,
  };
}

function isSet({ timeoutMs, file: name, maxResult: bytes }: RecordOptions, option: string): boolean {
  if (option === "timeout") return timeoutMs !== Infinity;
  if (option === "file") return name !== null;
  return option === "maxResult" && bytes !== null;
}

/** @param faults those that are found already. @throws {Problem} `request_invalid` with all faults */
function optionsOf(subject: string, given: object, resultLimit: number, faults: readonly MemberFault[]): RecordOptions {
  const parsed = RECORD_OPTIONS.safeParse(given);
  const all = [...faults, ...(parsed.success ? [] : schemaFaults(RECORD_OPTIONS, parsed.error))];
  const wanted = parsed.data?.maxResult;
  const mostBytes = wanted === Infinity ? resultLimit : wanted;
  if (mostBytes !== undefined && mostBytes > resultLimit) {
    all.push({ member: "maxResult", detail: `is more than the ${formatSize(resultLimit)} that a result may have` });
  }
  // The names help only if one of them is wrong.
  const isUnknown = all.some(({ known }) => known !== undefined);
  const isBackground = all.some(({ member }) => IN_BACKGROUND.has(member));
  if (all.length > 0)
    throw membersProblem(subject, all, isBackground ? BACKGROUND_HINT : isUnknown ? OPTIONS_HINT : null);
  const data = parsed.data!;
  return {
    timeoutMs: data.timeout ?? Infinity,
    file: data.file === undefined ? null : ownText(data.file),
    maxResult: mostBytes ?? null,
    query: data.query ?? "",
  };
}

/** Returns the query as text, or null if the value is neither a query nor an object of strings and lists of strings. */
function queryText(input: unknown): string | null {
  if (typeof input === "string") return /[\s#]/.test(input) ? null : input.replace(/^\?/, "");
  if (typeof input !== "object" || input === null || Array.isArray(input)) return null;
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(input)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (typeof each !== "string" && typeof each !== "number" && typeof each !== "boolean") return null;
      search.append(name, String(each));
    }
  }
  return search.toString();
}

function attempt<T>(parse: () => T): T | null {
  try {
    return parse();
  } catch {
    return null;
  }
}
