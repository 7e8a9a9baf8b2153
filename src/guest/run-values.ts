import { distance } from "../wire/distance.ts";
import { contextOf } from "./context.ts";
import type { Run } from "./run.ts";

const { hasOwn, keys } = Object;

/** A value of a run: the part of the context that has it, and its name. */
export interface RunValue {
  readonly part: "body" | "query" | "params" | "secrets";
  readonly name: string;
}

/** The parts of the context in the order in which a value is looked for. */
const PARTS = ["body", "query", "params", "secrets"] as const;
/** The parts that the caller sent. A hint gives away no other names. */
const SENT = ["body", "query"] as const;
/** The names of one part that are compared with a wrong one. */
const MAX_NAMES = 100;
const MAX_NAME_CHARACTERS = 48;
/** What the text of a hint may have. */
const NAME = /^[A-Za-z_$][\w$]{0,63}$/;

/** Returns where a run has a value of this name, or of a name that is a different spelling of it; null if it has none. */
export function runValue(name: string, run: Run, spellings = true): RunValue | null {
  const context = contextOf(run);
  for (let index = 0; index < PARTS.length; index += 1) {
    const members = membersOf(context[PARTS[index]!]);
    if (members !== null && hasOwn(members, name)) return { part: PARTS[index]!, name };
  }
  if (!spellings) return null;
  for (let index = 0; index < SENT.length; index += 1) {
    const members = membersOf(context[SENT[index]!]);
    const names = members === null ? [] : keys(members).slice(0, MAX_NAMES);
    const meant = names.find((each) => NAME.test(each) && isSpelling(name, each));
    if (meant !== undefined) return { part: SENT[index]!, name: meant };
  }
  return null;
}

/**
 * Returns the secret or the param of which a name of the code is probably a misspelling, or null. The names differ by one
 * typing mistake. A caller with a token who may run a named task, and may not read it, learns this name, and never a value.
 */
export function nearOwn(name: string, run: Run, parts: readonly ("params" | "secrets")[]): RunValue | null {
  const context = contextOf(run);
  for (let index = 0; index < parts.length; index += 1) {
    const part = parts[index]!;
    const names = keys(context[part]).slice(0, MAX_NAMES);
    const meant = names.find((each) => NAME.test(each) && digitsOf(each) === digitsOf(name) && isSpelling(name, each));
    if (meant !== undefined) return { part, name: meant };
  }
  return null;
}

/** KEY_1 is another value than KEY_2. */
function digitsOf(name: string): string {
  return name.replaceAll(/\D/g, "");
}

function membersOf(part: unknown): object | null {
  return typeof part === "object" && part !== null && !Array.isArray(part) ? part : null;
}

/** Whether two names differ by their case, their underscores, or by one typing mistake in a name of some length. */
export function isSpelling(name: string, other: string): boolean {
  if (name.length > MAX_NAME_CHARACTERS || other.length > MAX_NAME_CHARACTERS) return false;
  const [a, b] = [name.toLowerCase().replaceAll("_", ""), other.toLowerCase().replaceAll("_", "")];
  if (a === b) return true;
  // One more letter at the end is often another name: item and items, user and user2.
  if (a.length < 4 || a[0] !== b[0] || a === b.slice(0, -1) || b === a.slice(0, -1)) return false;
  return distance(a, b) < 2 && (a.length > 5 || a.length === b.length);
}
