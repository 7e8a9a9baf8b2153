import { z } from "zod";

import { type MemberFault, membersProblem, readSound, schemaFaults } from "../members.ts";
import { secretsMember } from "../tokens/secrets/member.ts";
import { type NotCode, notCode } from "../wire/not-code.ts";

/**
 * The members of `PUT /api/tasks/{container}/{name}` that are the task's own. The others are those of a token, and are
 * read as such.
 */
export interface TaskMembers {
  readonly code?: string;
  readonly url?: string;
  readonly sha256?: string;
  readonly public?: boolean;
  readonly fresh?: boolean;
  readonly net?: unknown;
  readonly limits?: unknown;
  readonly params?: unknown;
  readonly secrets?: unknown;
  readonly exp?: unknown;
  readonly expiresIn?: unknown;
}

/** Of all versions in the memory of the service, and sent with each run. */
const MAX_PARAMS_BYTES = 64 * 2 ** 10;

/** What is said of a task, as far as it can be read, and what is wrong with the rest. */
export interface ReadTask {
  readonly members: TaskMembers;
  readonly faults: readonly MemberFault[];
}

/** What a problem calls the members of a task. */
export const TASK = "the task";

/** @throws {Problem} `request_invalid` when it is no object. */
export function readTaskRequest(input: unknown, codeLimit: number): ReadTask {
  const { data, faults } = readSound(schema, input);
  if (data === null) throw membersProblem(TASK, faults);
  return { members: data, faults: [...faults, ...faultsBetween(data, codeLimit)] };
}

/** The members of `POST /api/tasks/{container}/{name}/rollback`. */
export interface RollBackMembers {
  readonly version: number;
  readonly secrets?: unknown;
}

/** @throws {Problem} `request_invalid` with every fault at once. */
export function readRollBack(input: unknown): RollBackMembers {
  const parsed = rollBackSchema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw membersProblem("the request to go back to a version", schemaFaults(parsed.error));
}

function* faultsBetween({ code, url, sha256, params }: TaskMembers, codeLimit: number): Generator<MemberFault> {
  if (code !== undefined) yield* faultsOfCode(code, codeLimit);
  if (code !== undefined && url !== undefined) {
    yield { member: "url", detail: "says where code is that is given as code; give one of them" };
  }
  if (code !== undefined && sha256 !== undefined) {
    yield { member: "sha256", detail: "is of what a URL gives; leave it out beside code" };
  }
  const bytes = Buffer.byteLength(JSON.stringify(params ?? null));
  if (bytes > MAX_PARAMS_BYTES) {
    yield { member: "params", detail: `have ${bytes} bytes as JSON; at most ${MAX_PARAMS_BYTES} are kept` };
  }
}

function* faultsOfCode(code: string, codeLimit: number): Generator<MemberFault> {
  const bytes = Buffer.byteLength(code);
  if (bytes > codeLimit) yield { member: "code", detail: `has ${bytes} bytes; at most ${codeLimit} are taken` };
  if (code.trim() === "") yield { member: "code", detail: "is blank" };
  const other = notCode(code);
  // No more than a look at how it begins: whether it parses is found out by a guest.
  if (other) yield { member: "code", detail: NOT_CODE[other] };
  if (!code.isWellFormed()) yield { member: "code", detail: "has a lone surrogate, which UTF-8 cannot hold" };
}

const NOT_CODE: Readonly<Record<NotCode, string>> = {
  fence: "begins with a Markdown fence; send what stands between the fences",
  page: "is an HTML page",
  xml: "is an XML document",
};

const flag = z.exactOptional(z.boolean("must be true or false"));
const any = z.exactOptional(z.unknown());

const schema: z.ZodType<TaskMembers> = z.strictObject(
  {
    code: z.exactOptional(z.string("must be the code, as text")),
    url: z.exactOptional(z.string("must be a URL, as text")),
    sha256: z.exactOptional(z.string("must be a SHA-256 in 64 hexadecimal digits")),
    public: flag,
    fresh: flag,
    net: any,
    limits: any,
    params: any,
    secrets: any,
    exp: any,
    expiresIn: any,
  },
  { error: (issue) => (issue.code === "invalid_type" ? "must be a JSON object" : undefined) },
);

const rollBackSchema: z.ZodType<RollBackMembers> = z.strictObject(
  { version: z.int("must be the number of a version that is kept"), secrets: z.exactOptional(secretsMember) },
  { error: (issue) => (issue.code === "invalid_type" ? "must be a JSON object such as {version: 3}" : undefined) },
);
