import { z } from "zod";

import { AUDIT_ACTIONS, type AuditCursor, parseAuditCursor } from "../../records/audit/audit.ts";
import { type Cursor, parseCursor } from "../../records/query.ts";
import { RUN_STATUSES, type RunStatus } from "../../records/record.ts";
import { isJti } from "../../tokens/claims.ts";
import { parseDuration } from "../../units.ts";
import { isName } from "../target.ts";
import { type LabelFilter, labelParameter } from "./label-filter.ts";
import { parseTime } from "./time-query.ts";

/** The parameters of a request by name. Each schema reads the text of its parameter. */
export type Query<T = unknown> = z.ZodType<T> & { readonly shape: Readonly<Record<string, z.ZodType>> };

export interface Detail {
  readonly detail?: boolean | undefined;
}

export interface DryRun {
  readonly dryRun?: boolean | undefined;
}

export interface Page {
  readonly cursor?: string | undefined;
  readonly limit: number;
}

export interface Now {
  readonly now?: boolean | undefined;
}

export interface LabelledPage extends Page {
  readonly label?: LabelFilter | undefined;
}

export interface ContainerPage extends LabelledPage {
  readonly container?: string | undefined;
}

/** Times in Unix milliseconds. */
export interface RunFilters {
  readonly task?: string | undefined;
  readonly status?: RunStatus[] | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly q?: string | undefined;
}

export interface RunPage extends RunFilters {
  readonly cursor?: Cursor | undefined;
  readonly limit: number;
}

export interface AllRunsPage extends RunPage {
  readonly container?: string | undefined;
}

export interface FailureFilters extends Pick<RunPage, "task" | "since" | "until" | "cursor"> {
  readonly container?: string | undefined;
}

/** Times in Unix milliseconds. */
export interface AuditFilters {
  readonly cursor?: AuditCursor | undefined;
  readonly limit: number;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly action?: string | undefined;
  readonly by?: string | undefined;
}

/** Times in Unix milliseconds. */
export interface UsageFilters {
  readonly by: "container" | "task" | "token";
  readonly step: "hour" | "day";
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

const DEFAULT_ENTRIES = 100;
const MAX_ENTRIES = 1_000;
const MAX_TEXT_CHARS = 200;
const TIME_FORM = "is not a date, such as 2026-11-23, or a date-time, such as 2026-11-23T10:00:00Z";
const MOMENT_FORM = "is not a time such as 2026-11-23T10:00:00Z, or a duration before now, such as 24h";
const STATUS_FORM = `must be one or more of ${RUN_STATUSES.join(", ")}, with commas between`;
const CURSOR_FORM = "is not the member next of a page of this list; leave it out for the first page";
const LIMIT_FORM = `must be a whole number from 1 to ${MAX_ENTRIES}`;

/** @param parse returns null for a text that is not valid. */
function parsed<T>(parse: (text: string) => T | null, form: string): z.ZodType<T, string> {
  return z.string().transform((text, context) => {
    const value = parse(text);
    if (value !== null) return value;
    context.addIssue({ code: "custom", message: form });
    return z.NEVER;
  });
}

const flag = z
  .enum(["true", "false"], "must be true or false")
  .transform((text) => text === "true")
  .optional();

const time = parsed(parseTime, TIME_FORM).optional();
/** A time, or a duration before now. */
const moment = parsed((text) => parseTime(text) ?? before(text), MOMENT_FORM).optional();

const limit = z
  .string()
  .regex(/^[1-9]\d{0,3}$/, { error: LIMIT_FORM, abort: true })
  .transform(Number)
  .refine((count) => count <= MAX_ENTRIES, LIMIT_FORM)
  .default(DEFAULT_ENTRIES)
  .meta({
    type: "integer",
    minimum: 1,
    maximum: MAX_ENTRIES,
    default: DEFAULT_ENTRIES,
    pattern: undefined,
    description: "the most entries of the page",
  });

/** The cursor of a list in the order of names. Every name is a place in it, so the form alone is checked. */
const nameCursor = cursorOf(isName);
const jtiCursor = cursorOf(isJti);

/** An empty text is the beginning of the list. */
function cursorOf(isValid: (text: string) => boolean): z.ZodOptional<z.ZodString> {
  return z
    .string()
    .refine((text) => text === "" || isValid(text), CURSOR_FORM)
    .optional()
    .meta({ description: "the member `next` of the previous page" });
}

const container = z.string().optional().meta({ description: "only of this container" });

const runFilters = {
  task: z
    .string()
    .refine(isName, "is not a valid task name: 1 to 128 of the characters A-Z a-z 0-9 _ . @ -")
    .optional()
    .meta({ description: "only of this named task" }),
  status: parsed(statuses, STATUS_FORM)
    .optional()
    .meta({ description: `only with these statuses, with commas between: ${RUN_STATUSES.join(", ")}` }),
  since: moment.meta({ description: "only runs that began at this time or later; a time, or a duration before now" }),
  until: moment.meta({ description: "only runs that began before this time; a time, or a duration before now" }),
  q: z
    .string()
    .max(MAX_TEXT_CHARS, `must have at most ${MAX_TEXT_CHARS} characters`)
    .optional()
    .meta({ description: "only runs whose console or error contains this text" }),
};

const runCursor = parsed((text) => (text === "" ? undefined : parseCursor(text)), CURSOR_FORM)
  .optional()
  .meta({ description: "the member `next` of the previous page" });

export const NO_QUERY: Query<object> = z.strictObject({});
export const DETAIL: Query<Detail> = z.strictObject({
  detail: flag.meta({ description: "`true`: an object for each window, with limit, remaining, used and resetSeconds" }),
});
export const PAGE: Query<Page> = z.strictObject({ cursor: nameCursor, limit });
export const LABELLED_PAGE: Query<LabelledPage> = z.strictObject({ cursor: nameCursor, limit, label: labelParameter });
export const TOKEN_PAGE: Query<ContainerPage> = z.strictObject({
  cursor: jtiCursor,
  limit,
  container,
  label: labelParameter,
});
export const RUN_PAGE: Query<RunPage> = z.strictObject({ cursor: runCursor, limit, ...runFilters });
export const ALL_RUNS_PAGE: Query<AllRunsPage> = z.strictObject({ cursor: runCursor, limit, ...runFilters, container });
export const FAILURES: Query<FailureFilters> = z.strictObject({
  container,
  task: runFilters.task,
  since: runFilters.since,
  until: runFilters.until,
  cursor: runCursor,
});
export const DRY_RUN: Query<DryRun> = z.strictObject({
  dryRun: flag.meta({ description: "`true`: runs the task once, publishes nothing, and answers with the record" }),
});
export const NOW: Query<Now> = z.strictObject({
  now: flag.meta({ description: "`true`: ends the runs in flight; otherwise they finish" }),
});
/** The members of a task whose body is its source. They are read and checked as members of JSON. */
export const TASK_SOURCE: Query<DryRun> = z.strictObject({
  dryRun: flag.meta({ description: "`true`: runs the task once, publishes nothing, and answers with the record" }),
  ...Object.fromEntries(
    [
      ...["public", "errors", "record", "fresh", "net", "limits", "timeout", "params", "exp", "expiresIn"],
      ...["labels", "description", "tool", "input", "packages", "update"],
    ].map((name) => {
      const description = `\`${name}\` of the task, as text or as JSON, if the body is its source`;
      return [name, z.string().optional().meta({ description })];
    }),
  ),
});
export const AUDIT_PAGE: Query<AuditFilters> = z.strictObject({
  cursor: parsed((text) => (text === "" ? undefined : parseAuditCursor(text)), CURSOR_FORM)
    .optional()
    .meta({ description: "the member `next` of the previous page" }),
  limit,
  since: time.meta({ description: "only entries of this time or later" }),
  until: time.meta({ description: "only entries before this time" }),
  action: z
    .enum(AUDIT_ACTIONS, `must be one of ${AUDIT_ACTIONS.join(", ")}`)
    .optional()
    .meta({ description: "only this action" }),
  by: z
    .string()
    .refine(isJti, "is not the jti of a token")
    .optional()
    .meta({ description: "only changes by the token with this `jti`" }),
});
export const USAGE: Query<UsageFilters> = z.strictObject({
  by: z
    .enum(["container", "task", "token"], "is not one of container, task, token")
    .default("container")
    .meta({ description: "what each row counts" }),
  step: z
    .enum(["hour", "day"], "is not one of hour, day")
    .default("hour")
    .meta({ description: "the time that each row counts, in UTC" }),
  from: time.meta({ description: "the beginning; by default a day before `to`" }),
  to: time.meta({ description: "the end; by default now" }),
});

/** Returns Unix milliseconds, or null if the text is not a duration. */
function before(duration: string): number | null {
  try {
    return Date.now() - parseDuration(duration);
  } catch {
    return null;
  }
}

function statuses(text: string): RunStatus[] | null {
  const names = new Set(text.split(","));
  const known = RUN_STATUSES.filter((each) => names.delete(each));
  return names.size === 0 ? known : null;
}
