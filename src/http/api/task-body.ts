import { isUtf8 } from "node:buffer";

import { Problem } from "../../errors.ts";
import type { JsonVisitor } from "../../source/json-scanner.ts";
import { checkJson, nameAt, parseJson } from "../../source/json.ts";
import { notUtf8 } from "../../source/text.ts";
import type { Caller } from "../../tokens/caller.ts";
import { parseTarget } from "../target.ts";
import { memberBounds } from "./member-bounds.ts";
import { explained, readBytes } from "./read-json.ts";
import type { ApiDependencies, Call } from "./route.ts";

/** How many times longer code may be in JSON, because of its escapes. */
const ESCAPE_FACTOR = 4;
/** The most JSON bytes of each other member, such as params. One turn of the event loop parses and walks a member. */
const MAX_OTHER_BYTES = 96 * 2 ** 10;
/** The most JSON bytes of secrets: 64 KiB of secrets, some of them escaped. */
const MAX_SECRETS_BYTES = 256 * 2 ** 10;

/** The media types of a body that is the source itself, and whether it is TypeScript. */
const SOURCE_TYPES: ReadonlyMap<string, boolean> = new Map([
  ["application/javascript", false],
  ["text/javascript", false],
  ["application/typescript", true],
]);

/** Whether the body is the source of the task. The other members are then in the query. */
export function isSource({ env: { incoming } }: Call): boolean {
  return SOURCE_TYPES.has(mediaTypeOf(incoming.headers["content-type"]));
}

/**
 * Reads the members of a task, from JSON or from a source with its query.
 *
 * @param hint the fix for a body that is not JSON
 * @throws {Problem} `code_too_large`, `request_invalid`
 */
export async function readTaskMembers(
  call: Call,
  dependencies: ApiDependencies,
  by: Caller,
  hint: string = SEND_CODE,
): Promise<unknown> {
  const { codeLimit, jsonDepthLimit } = dependencies.config;
  const ofSource = isSource(call);
  const limitBytes = ofSource ? codeLimit : codeLimit * ESCAPE_FACTOR + MAX_SECRETS_BYTES + MAX_OTHER_BYTES;
  const tooLarge = (): Problem => {
    return new Problem("code_too_large", `the body is longer than the limit of ${limitBytes} bytes`);
  };
  return await readBytes(call, dependencies, by, { limitBytes, tooLarge }, async (body) => {
    if (ofSource) return await membersOfSource(call, body, (bytes) => parseJson(bytes, jsonDepthLimit, by.family));
    try {
      await checkJson(body, jsonDepthLimit, by.family, taskBounds(body));
      return await parseJson(body, jsonDepthLimit, by.family);
    } catch (error) {
      throw explained(error, body, call.env.incoming.headers["content-type"], hintFor(body, hint));
    }
  });
}

/**
 * The query was checked by `TASK_SOURCE`.
 *
 * @throws {Problem} `request_invalid` as `parse` does for the JSON of a member
 */
async function membersOfSource(
  { env: { incoming } }: Call,
  body: Buffer,
  parse: (json: Buffer) => Promise<unknown>,
): Promise<object> {
  if (!isUtf8(body)) throw notUtf8(body);
  const { query } = parseTarget(incoming.url!);
  const typescript = SOURCE_TYPES.get(mediaTypeOf(incoming.headers["content-type"]))!;
  const members: Record<string, unknown> = { typescript, code: body.toString().replace(/^\uFEFF/, "") };
  for (const [name, value] of query) {
    if (name === "key" || name === "dryRun") continue;
    members[name] = name === "description" || !isJson(value) ? value : await parse(Buffer.from(value));
  }
  return members;
}

/** Whether a value is JSON, such as `true` or `{"a": 1}`. Any other value is text, such as `5s`. */
function isJson(text: string): boolean {
  try {
    // At most as long as the head of a request.
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const SEND_CODE =
  'Send JSON, such as {"code":"..."}, or the code as it is with Content-Type: application/javascript or application/typescript.';

/** JSON with a fault needs no other hint than the place of the fault. */
function hintFor(body: Buffer, hint: string): string | null {
  return /^\s*[{[]/.test(body.toString("latin1", 0, 64)) ? null : hint;
}

function invalid(detail: string): Problem {
  return new Problem("request_invalid", detail);
}

function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? "").split(";", 1)[0]!.trim().toLowerCase();
}

/** Rejects members that would take too long to build and walk, before they are built. No valid task has such members. */
function taskBounds(body: Buffer): JsonVisitor {
  return {
    ...memberBounds(body),
    member: (depth, name, { start, end }) => {
      if (depth !== 1) return;
      const member = nameAt(body, name);
      const bytes = end - start;
      const bound = BOUNDS.get(member) ?? MAX_OTHER_BYTES;
      if (bytes <= bound) return;
      throw invalid(`${member.slice(0, 64)} has ${bytes} bytes; at most ${bound} are accepted`);
    },
  };
}

const BOUNDS: ReadonlyMap<string, number> = new Map([
  // The limit of the body bounds these.
  ["code", Infinity],
  ["modules", Infinity],
  ["secrets", MAX_SECRETS_BYTES],
]);
