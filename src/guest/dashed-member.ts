import type { FaultMessage } from "../wire/messages.ts";
import { contextOf } from "./context.ts";
import type { Run } from "./run.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
/** The parts of a line in front of a position and behind it that are looked at. */
const MAX_NAME = 120;
/** The owner of a member and the beginning of its name, in front of the part that is read as a variable. */
const MEMBER =
  /(?:^|[^\w$.])((?:[A-Za-z_$][\w$]{0,40}\??\.){0,4}[A-Za-z_$][\w$]{0,40})\??\.((?:[A-Za-z_$][\w$]{0,40}-){1,6})$/;
const END = /^[A-Za-z_$][\w$]{0,40}(?:-[A-Za-z_$][\w$]{0,40}){0,6}/;
const { hasOwn } = Object;

/**
 * Returns the hint for the name of a member with a dash in it, of which a part is read as a variable that nothing declares; otherwise
 * undefined. It is a subtraction, unless the text, the headers or the request have the whole name. Never throws.
 *
 * @param located the fault with its position in the text
 */
export function dashedMemberHint(text: string, { code, error, at }: FaultMessage, run: Run): string | undefined {
  try {
    if (code !== "task_threw" || error?.name !== "ReferenceError" || text.length > MAX_CHARACTERS) return undefined;
    if (!at || !/^task\.[jt]s$/.test(at.file)) return undefined;
    const line = text.split("\n")[at.line - 1] ?? "";
    const index = at.column - 1;
    const [, owner, start] = MEMBER.exec(line.slice(Math.max(0, index - MAX_NAME), index)) ?? [];
    const end = END.exec(line.slice(index, index + MAX_NAME))?.[0];
    if (owner === undefined || end === undefined) return undefined;
    const name = start! + end;
    const part = /[\w$]+$/.exec(owner)![0];
    if (part !== "headers" && !isSent(part, name, run) && !text.includes(`"${name}"`) && !text.includes(`'${name}'`))
      return undefined;
    // The headers of a Request and a Response of fetch are no members.
    if (/^(?:request|response|res|resp)\.headers$/.test(owner) && /\bfetch\b/.test(text))
      return `The - subtracts: write ${owner}.get("${name}") for the header.`;
    return `The - subtracts: write ${owner}["${name}"].`;
  } catch {
    // A task has replaced a method of texts or patterns.
    return undefined;
  }
}

/** Whether the request has a value of this name in a part of the context. */
function isSent(part: string, name: string, run: Run): boolean {
  if (!/^(?:query|body|data)$/.test(part)) return false;
  const members = contextOf(run)[part as "query" | "body" | "data"];
  return typeof members === "object" && members !== null && hasOwn(members, name);
}
