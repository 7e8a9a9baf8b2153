import { z } from "zod";

import { Slices } from "../../next-turn.ts";
import { MAX_GROUPS } from "../../records/failure-groups.ts";
import { selectsContainer } from "../../records/match.ts";
import { byNewest, type Cursor, parseCursor, type RunQuery } from "../../records/query.ts";
import { type Failures, HISTORIES } from "../../records/records.ts";
import type { FailureGroup } from "../../records/store.ts";
import type { AnswerReader } from "../ask-node.ts";
import { worstHistory } from "./history.ts";
import { type AnswerKind, foreign, writeLines } from "./kind.ts";

/** Failures, grouped by their cause. */
export function failureGroups(query: RunQuery): AnswerKind<Failures> {
  return {
    write: ({ groups, next, ...end }, family) =>
      writeLines([...groups, { ...end, next: next && `${next.startedMs}.${next.run}` }], family),
    newReader: () => new FailuresReader(query),
    merge: mergeFailures,
  };
}

const group = z.strictObject({
  container: z.string(),
  task: z.string().nullable(),
  code: z.string(),
  name: z.string().nullable(),
  frame: z.string().nullable(),
  message: z.string(),
  count: z.int().positive(),
  firstAt: z.iso.datetime(),
  lastAt: z.iso.datetime(),
  run: z.string(),
});
const end = z.strictObject({ complete: z.boolean(), history: z.enum(HISTORIES), next: z.string().nullable() });
const line = z.union([group, end]);

class FailuresReader implements AnswerReader<Failures> {
  readonly #query: RunQuery;
  readonly #groups: FailureGroup[] = [];
  #end: Omit<Failures, "groups"> | null = null;

  constructor(query: RunQuery) {
    this.#query = query;
  }

  line(value: unknown): void {
    const read = line.parse(value);
    if (this.#end !== null || this.#groups.length > MAX_GROUPS * 2) throw foreign();
    if ("complete" in read) this.#end = { ...read, next: read.next === null ? null : this.#cursor(read.next) };
    else if (selectsContainer(this.#query, read.container)) this.#groups.push(read);
    else throw foreign();
  }

  /** Parses a cursor. It must be after that of the query, or a reader of all pages would never reach their end. */
  #cursor(text: string): Cursor {
    const cursor = parseCursor(text);
    const { after } = this.#query;
    if (cursor === null || (after !== null && byNewest(after, cursor) >= 0)) throw foreign();
    return cursor;
  }

  end(): Failures {
    if (this.#end === null) throw foreign();
    return { ...this.#end, groups: this.#groups };
  }
}

async function mergeFailures(parts: readonly Failures[], family: string): Promise<Failures> {
  const slices = new Slices(family);
  const groups = new Map<string, FailureGroup>();
  for (const each of parts.flatMap((part) => part.groups)) {
    if (slices.hasEnded) await slices.next();
    const { container, task, code, name, frame } = each;
    const key = JSON.stringify([container, task, code, name, frame]);
    const known = groups.get(key);
    groups.set(key, known ? sum(known, each) : each);
  }
  const inOrder = [...groups.values()].toSorted((a, b) => (a.lastAt < b.lastAt ? 1 : a.lastAt > b.lastAt ? -1 : 0));
  return {
    next: firstEnd(parts),
    groups: inOrder.slice(0, MAX_GROUPS),
    complete: parts.every(({ complete }) => complete) && inOrder.length <= MAX_GROUPS,
    history: worstHistory(parts),
  };
}

/** Returns the newest position at which a part ends early: beyond it, not all nodes have counted. */
function firstEnd(parts: readonly Failures[]): Cursor | null {
  const ends = parts.flatMap(({ next }) => (next === null ? [] : [next]));
  return ends.toSorted(byNewest)[0] ?? null;
}

function sum(a: FailureGroup, b: FailureGroup): FailureGroup {
  const latest = a.lastAt < b.lastAt ? b : a;
  return { ...latest, count: a.count + b.count, firstAt: a.firstAt < b.firstAt ? a.firstAt : b.firstAt };
}
