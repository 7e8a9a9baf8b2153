import type { AbsentSource } from "../wire/absent-text.ts";
import { contextOf } from "./context.ts";
import { memberReads, type MemberRead } from "./member-reads.ts";
import type { Run } from "./run.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
const WORDS = /\bprocess\b|\bcontext\b|\bctx\b|=>|\bfunction\b|\bfetch\b/;
/** Headers that the service keeps from code, and that code often reads. Other headers may be absent on purpose. */
const WITHHELD = /^(?:authorization|cookie)$/;
const OF_STREAM = /^(?:locked|cancel|getReader|pipeThrough|pipeTo|tee|values|constructor|toString|hasOwnProperty)$/;
/** Bundles read NODE_ENV and do without it. */
const OPTIONAL = /^(?:NODE_ENV|DEBUG|CI|NO_COLOR|FORCE_COLOR)$/;

/**
 * Returns the reads of a text that are undefined in a run: variables of the environment, and members of the parts of the context. In the
 * order of the text. It is called only for a failed run or an empty result, because it reads the whole text.
 */
export function absentReads(text: string, run: Run): readonly MemberRead[] {
  if (text.length > MAX_CHARACTERS || !WORDS.test(text)) return [];
  const reads = memberReads(text);
  if (reads.length === 0) return [];
  const isAbsent = absenceIn(run);
  const absent: MemberRead[] = [];
  for (let index = 0; index < reads.length; index += 1) {
    const read = reads[index]!;
    if (isAbsent(read.source, read.name)) absent[absent.length] = read;
  }
  return absent;
}

function absenceIn(run: Run): (source: AbsentSource, name: string) => boolean {
  const { params, secrets, query, data, body, headers } = contextOf(run);
  // A streamed body that was not read is not in the context.
  const hasBody = run.requestBody === null || run.rawBody !== null;
  return (source, name) => {
    switch (source) {
      case "context":
        return true;
      case "env":
        return process.env[name] === undefined && !OPTIONAL.test(name);
      case "binding":
        return params[name] === undefined && secrets[name] === undefined;
      case "params":
        return params[name] === undefined;
      case "secrets":
        return secrets[name] === undefined;
      case "query":
        return query[name] === undefined;
      case "headers":
        return (WITHHELD.test(name) || /[A-Z]/.test(name)) && headers[name] === undefined;
      case "stream":
        return !OF_STREAM.test(name);
      // For a text, another hint explains that it has no members.
      case "data":
        return hasBody && typeof body !== "string" && data[name] === undefined;
      default:
        return hasBody && typeof body === "object" && body !== null && !(name in body);
    }
  };
}
