import { z } from "zod";

import { Problem } from "../errors.ts";
import { meant } from "../members.ts";
import { rangesMember } from "../packages/member.ts";
import type { Ranges } from "../packages/names.ts";
import { ENVELOPE_MEMBERS, ENVELOPE_SYNONYMS, TASK_MEMBERS } from "../wire/envelope-names.ts";
import { BAD_SPECIFIER, isSpecifier } from "../wire/specifiers.ts";
import { EnvelopeMembers } from "./envelope-members.ts";
import { jsonMistake } from "./json-mistakes.ts";
import { checkJson } from "./json.ts";

/** The members of an `application/json` body. */
export interface Envelope {
  code: string;
  modules: Record<string, string> | null;
  packages: Ranges | null;
  /** The JSON text as it was sent, or null if absent. */
  data: string | null;
  /** The members that the caller of `readEnvelope` accepts in addition, by name. They are not checked. */
  options: Readonly<Record<string, unknown>>;
}

interface EnvelopeObject {
  readonly code: string;
  readonly data?: null;
  readonly modules?: Record<string, string>;
  readonly packages?: Ranges;
}

/** An envelope without options. */
const NO_OPTIONS: ReadonlySet<string> = new Set();

/**
 * Reads the envelope `{code, data?, modules?, packages?}`. A lone surrogate is rejected in code and modules, because these become
 * UTF-8. It is allowed in `data`, which stays the JSON text that was sent.
 *
 * @param holder as of `nextTurn`
 * @param optionNames the names of further members that are accepted
 * @throws {Problem} `request_invalid` with every fault, or `code_missing` if the only fault is that `code` is absent.
 */
export async function readEnvelope(
  body: Buffer,
  maxDepth: number,
  holder?: string,
  optionNames: ReadonlySet<string> = NO_OPTIONS,
): Promise<Envelope> {
  const members = new EnvelopeMembers(body, optionNames);
  try {
    await checkJson(body, maxDepth, holder, members);
  } catch (error) {
    throw withForm(error, body, optionNames);
  }
  if (!members.isObject) {
    throw new Problem("request_invalid", "the body is JSON, but not an object with the member code", {
      hint: hintFor(optionNames),
    });
  }
  const hint = `${hintFor(optionNames)}${Object.hasOwn(members.value, "code") ? "" : DATA}`;
  const [value, options] = split(members.value, optionNames);
  const known = [...ENVELOPE_MEMBERS, ...optionNames];
  const result = ENVELOPE.safeParse(value);
  const faults = result.success ? [] : result.error.issues.flatMap((issue) => faultsOf(issue, known));
  // A misspelled name of code is the better reason than the missing code.
  if (!Object.hasOwn(value, "code")) faults.sort((one, other) => rank(one) - rank(other));
  if ("modules" in value && hasProtoMember(value.modules)) {
    faults.push({ detail: BAD_SPECIFIER, pointer: pointer(["modules", "__proto__"]) });
  }
  if (result.success && faults.length === 0) {
    const { code, modules, packages } = result.data;
    return { code, modules: modules ?? null, packages: packages ?? null, data: members.data, options };
  }
  if (faults.length === 1 && !Object.hasOwn(value, "code")) {
    throw new Problem("code_missing", "the body has no member code", { hint });
  }
  const first = faults[0]!;
  const more = faults.length === 1 ? "" : `; ${faults.length - 1} more in violations`;
  throw new Problem("request_invalid", `the body is not an envelope: ${first.pointer} ${first.detail}${more}`, {
    hint,
    violations: faults.slice(0, MAX_VIOLATIONS),
  });
}

/** For JSON that is probably data. */
const DATA = " Data for a named task goes to /api/run/{container}/{name}.";

/** Separates the options from the other members. */
function split(members: object, optionNames: ReadonlySet<string>): [object, Record<string, unknown>] {
  const entries = Object.entries(members);
  return [
    Object.fromEntries(entries.filter(([name]) => !optionNames.has(name))),
    Object.fromEntries(entries.filter(([name]) => optionNames.has(name))),
  ];
}

/** One fault, as in the example of RFC 9457, section 3: `pointer` is a JSON Pointer in a URI fragment (RFC 6901). */
interface Violation {
  detail: string;
  pointer: string;
}

const LINE_BREAK =
  "In JSON, a line break of the code is written \\n. Or send the code as it is, as text/javascript instead of application/json.";
const AS_IT_IS =
  "Or send the code as it is, as text/javascript instead of application/json, such as with --data-binary @task.js. ";

/** Adds to the fault of a body that is not JSON what the body should be. Most often, code was sent as JSON. */
function withForm(error: unknown, body: Buffer, optionNames: ReadonlySet<string>): unknown {
  if (!(error instanceof Problem) || error.options.hint !== undefined) return error;
  const isObject = body.toString("latin1", 0, MAX_NAME_LENGTH).trimStart().startsWith("{");
  const hint = `A body of application/json is an envelope, such as {"code": "..."}. Send code as it is as text/javascript, or without a type.`;
  const mistake = jsonMistake(error.message, body);
  const inObject =
    error.message.includes("line break") && !mistake.startsWith("JSON has no")
      ? LINE_BREAK
      : `${mistake}${mistake.startsWith("A double quote") ? AS_IT_IS : ""}${hintFor(optionNames)}`;
  return new Problem(error.code, error.message, { ...error.options, hint: isObject ? inObject : hint });
}

const HINT =
  'The envelope is {"code": "...", "data": any, "modules": {"./lib.ts": "..."}, "packages": {"zod": "^4"}}; only code is required.';

function hintFor(optionNames: ReadonlySet<string>): string {
  return optionNames.size === 0 ? HINT : `${HINT} Here it may also have ${[...optionNames].join(", ")}.`;
}

/** The maximum number of reported faults. It keeps the answer small for any body. */
const MAX_VIOLATIONS = 20;
const MAX_NAME_LENGTH = 64;

const text = z
  .string("must be a string")
  .refine((value) => value.isWellFormed(), "has a lone surrogate, which UTF-8 cannot hold");

const specifier = z.string().refine(isSpecifier);

/** The members of an envelope. `data` may be any JSON; it is read apart from them, as text. */
export const ENVELOPE: z.ZodType<EnvelopeObject> = z.strictObject({
  code: text,
  data: z.exactOptional(z.null().meta({ type: undefined })),
  modules: z
    .record(specifier, text, "must be an object with relative specifiers as names and strings as values")
    .exactOptional(),
  packages: rangesMember.exactOptional(),
});

const TASK_MEMBER =
  "; PUT /api/tasks/{container}/{name} sets secrets, params, net, limits and fresh for a task, and POST /api/tokens for a token";
const TIMEOUT = "; POST /api/runs/{container} takes a timeout";

/** There are few unknown members, because `EnvelopeMembers` limits the members. */
function faultsOf(issue: z.core.$ZodIssue, known: readonly string[]): Violation[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => {
      if (key === "timeout") return { detail: `is not a member of the envelope${TIMEOUT}`, pointer: pointer([key]) };
      if (TASK_MEMBERS.includes(key))
        return { detail: `is not a member of the envelope${TASK_MEMBER}`, pointer: pointer([key]) };
      return {
        detail: `is not a member of the envelope${meant(key, known, ENVELOPE_SYNONYMS)}`,
        pointer: pointer([key]),
      };
    });
  }
  const detail = issue.code === "invalid_key" ? BAD_SPECIFIER : issue.message;
  return [{ detail, pointer: pointer(issue.path) }];
}

function rank({ pointer: place }: Violation): number {
  return place === "#/code" ? 1 : 0;
}

/** Detects a member `__proto__`, which zod silently omits from a record. */
function hasProtoMember(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "__proto__");
}

function pointer(path: readonly PropertyKey[]): string {
  const steps = path.map((step) => String(step).slice(0, MAX_NAME_LENGTH).replaceAll("~", "~0").replaceAll("/", "~1"));
  return `#/${steps.map((step) => encodeURIComponent(step.toWellFormed())).join("/")}`;
}
