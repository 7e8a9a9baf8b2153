import { z } from "zod";

import { descriptionMember, type Labels, labelsMember } from "../labels.ts";
import { type MemberFault, membersProblem, readSound, schemaFaults } from "../members.ts";
import { rangesMember, updateMember } from "../packages/member.ts";
import type { Ranges } from "../packages/names.ts";
import { timeoutMember } from "../tokens/members.ts";
import { secretsMember } from "../tokens/secrets/secrets-member.ts";
import { type NotCode, notCode } from "../wire/not-code.ts";
import { BAD_SPECIFIER, isSpecifier, MAX_MODULES } from "../wire/specifiers.ts";
import { inputMember, type InputSchema } from "./input-schema.ts";
import { ERROR_VISIBILITIES, type ErrorVisibility } from "./task.ts";

/**
 * The members of `PUT /api/tasks/{container}/{name}`. Members with type `unknown` are the same as those of a token, and are
 * checked as such later.
 */
export interface TaskMembers {
  readonly code?: string;
  readonly modules?: Readonly<Record<string, string>> | null;
  readonly typescript?: boolean;
  readonly url?: string;
  readonly sha256?: string;
  readonly public?: boolean;
  readonly errors?: ErrorVisibility;
  readonly record?: "input" | null;
  readonly tool?: boolean;
  readonly input?: InputSchema | null;
  readonly packages?: Ranges | null;
  readonly update?: readonly string[];
  readonly fresh?: boolean;
  readonly net?: unknown;
  readonly limits?: unknown;
  readonly timeout?: string | null;
  readonly labels?: Labels | null;
  readonly description?: string | null;
  readonly params?: unknown;
  readonly secrets?: unknown;
  readonly exp?: unknown;
  readonly expiresIn?: unknown;
}

/** The maximum bytes of params, which the service holds in memory for every version and sends with each run. */
const MAX_PARAMS_BYTES = 64 * 2 ** 10;

/** The readable members of a task request, and the faults of the rest. */
export interface ReadTask {
  readonly members: TaskMembers;
  readonly faults: readonly MemberFault[];
}

/** The subject in problems about the members of a task. */
export const TASK = "the task";

/** @throws {Problem} `request_invalid` when the input is not an object. */
export function readTaskRequest(input: unknown, codeLimit: number): ReadTask {
  const { data, faults } = readSound(taskRequest, input, detailOfOther);
  if (data === null) throw membersProblem(TASK, faults);
  return { members: data, faults: [...faults, ...combinedFaults(data, codeLimit)] };
}

/** Explains members that tasks of other services have. */
function detailOfOther(member: string): string | null {
  const other = OF_OTHERS.find(({ names }) => names.test(member));
  return other ? `is not a known member${other.instead}` : null;
}

const OF_OTHERS: readonly { readonly names: RegExp; readonly instead: string }[] = [
  {
    names: /^(?:cron|crontab|schedules?|interval|every)$/i,
    instead: ", because the service has no schedule; let cron call /api/run/{container}/{name}",
  },
  { names: /^name$/i, instead: "; the path has the name of the task" },
  {
    names: /^(?:auth|authentication|authorization|anonymous|private|access|token)$/i,
    instead: '; "public": true lets callers without a token run the task, and otherwise a call needs one',
  },
  {
    names: /^(?:web)?hook$/i,
    instead: '; callers reach each task at /api/run/{container}/{name}, and with "public": true they need no token',
  },
  { names: /^(?:http)?methods?$/i, instead: "; a task receives every method, and reads context.method" },
  { names: /^(?:cors|origins?|alloworigins?)$/i, instead: "; pages of every origin may call a task" },
  { names: /^(?:memory|mem|ram)\w*$/i, instead: "; the operator sets --memory-limit, for all containers" },
  { names: /^cpus?\w*$/i, instead: "; the operator sets --cpu-limit, for all containers" },
  { names: /^(?:max)?concurrency$/i, instead: "; the operator sets --concurrency, for all containers" },
  { names: /^(?:runtime|image|engine|node)$/i, instead: "; all code runs in the Node of the service" },
  { names: /^(?:retry|retries|attempts)$/i, instead: "; a call runs the code once, and the caller repeats it" },
  {
    names: /^(?:handler|main|entry|entrypoint)$/i,
    instead: "; the code itself exports what runs: export default (context) => ...",
  },
];

/** The members of `POST /api/tasks/{container}/{name}/rollback`. */
export interface RollBackMembers {
  readonly version: number;
  readonly secrets?: unknown;
}

/** @throws {Problem} `request_invalid` with all faults at once. */
export function readRollBack(input: unknown): RollBackMembers {
  const parsed = rollBackRequest.safeParse(input);
  if (parsed.success) return parsed.data;
  throw membersProblem("the request to roll back", schemaFaults(rollBackRequest, parsed.error));
}

function* combinedFaults(
  { code, modules, url, sha256, params }: TaskMembers,
  codeLimit: number,
): Generator<MemberFault> {
  if (code !== undefined) yield* faultsOfCode(code, codeLimit);
  if (code !== undefined && url !== undefined) {
    yield { member: "url", detail: "contradicts code; leave one of them out" };
  }
  if (modules && url !== undefined)
    yield { member: "modules", detail: "belong to code in the task, and url names other code" };
  if (Object.keys(modules ?? {}).length > MAX_MODULES) {
    yield { member: "modules", detail: `are more than ${MAX_MODULES}` };
  }
  if (code !== undefined && sha256 !== undefined) {
    yield { member: "sha256", detail: "applies to code from a URL; leave it out together with code" };
  }
  const bytes = Buffer.byteLength(JSON.stringify(params ?? null));
  if (bytes > MAX_PARAMS_BYTES) {
    yield { member: "params", detail: `have ${bytes} bytes as JSON; at most ${MAX_PARAMS_BYTES} are allowed` };
  }
}

function* faultsOfCode(code: string, codeLimit: number): Generator<MemberFault> {
  const bytes = Buffer.byteLength(code);
  if (bytes > codeLimit) yield { member: "code", detail: `has ${bytes} bytes; at most ${codeLimit} are allowed` };
  if (code.trim() === "") yield { member: "code", detail: "is blank" };
  const other = notCode(code);
  // This checks only how the text begins. A guest checks whether it parses.
  if (other) yield { member: "code", detail: NOT_CODE[other] };
  if (!code.isWellFormed()) yield { member: "code", detail: "has a lone surrogate, which UTF-8 cannot hold" };
}

const NOT_CODE: Readonly<Record<NotCode, string>> = {
  fence: "begins with a Markdown fence; send only the code between the fences",
  page: "is an HTML page",
  xml: "is an XML document",
};

const flag = z.exactOptional(z.boolean("must be true or false"));
const any = z.exactOptional(z.unknown());
const moduleText = z
  .string("must be the text of a module")
  .refine((text) => text.isWellFormed(), "has a lone surrogate, which UTF-8 cannot hold");
/** `__proto__` is not a specifier. zod leaves it out, so it is never a module. */
const modulesMember = z.record(z.string().refine(isSpecifier), moduleText, {
  error: ({ code }) =>
    code === "invalid_key" ? BAD_SPECIFIER : 'must be an object such as {"./lib.ts": "..."}, or null',
});

/** The body of `PUT /api/tasks/{container}/{name}`. */
export const taskRequest: z.ZodType<TaskMembers> = z.strictObject(
  {
    code: z.exactOptional(z.string("must be the code, as text")),
    modules: z.exactOptional(modulesMember.nullable()),
    typescript: flag,
    url: z.exactOptional(z.string("must be a URL, as text")),
    sha256: z.exactOptional(z.string("must be a SHA-256 in 64 hexadecimal digits")),
    public: flag,
    errors: z.exactOptional(z.enum(ERROR_VISIBILITIES, "must be shown or hidden")),
    record: z.exactOptional(z.literal(["input", null], "must be input, or null")),
    tool: flag,
    input: z.exactOptional(inputMember.nullable()),
    packages: z.exactOptional(rangesMember.nullable()),
    update: z.exactOptional(updateMember),
    fresh: flag,
    net: any,
    limits: any,
    timeout: z.exactOptional(timeoutMember.nullable()),
    labels: z.exactOptional(labelsMember.nullable()),
    description: z.exactOptional(descriptionMember.nullable()),
    params: any,
    secrets: any,
    exp: any,
    expiresIn: any,
  },
  { error: (issue) => (issue.code === "invalid_type" ? 'must be a JSON object such as {"code": "..."}' : undefined) },
);

/** The body of `POST /api/tasks/{container}/{name}/rollback`. */
export const rollBackRequest: z.ZodType<RollBackMembers> = z.strictObject(
  { version: z.int("must be the number of a stored version, such as 3"), secrets: z.exactOptional(secretsMember) },
  { error: (issue) => (issue.code === "invalid_type" ? 'must be a JSON object such as {"version": 3}' : undefined) },
);
