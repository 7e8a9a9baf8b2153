import { type NameResolver, unanswered } from "./resolve-names.ts";

/** The time for which an answer is used, in milliseconds. A name that moves to another address is reached a second later at most. */
const KEPT_MS = 1_000;
/**
 * The maximum number of callers that wait for the answer of one name. A caller that starts and ends guests could otherwise collect
 * waiting lookups of a name whose servers never answer.
 */
const MAX_WAITING = 10_000;

interface Shared {
  readonly answer: ReturnType<NameResolver>;
  waiting: number;
  /** The time from which the name is resolved again. */
  untilMs: number;
}

/**
 * Returns a resolver that resolves each name once for all callers that ask at a time, and keeps the answer, or the error, for a
 * second. Without it, one caller could fill the line for the few lookups that the process makes at a time.
 *
 * It keeps an entry for each name, so it must only resolve names from a fixed list, such as the operator's.
 */
export function sharedNames(names: NameResolver, nowMs: () => number = () => performance.now()): NameResolver {
  const entries = new Map<string, Shared>();

  const begin = (name: string): Shared => {
    const entry = { answer: names(name), waiting: 0, untilMs: Infinity };
    const keep = (): void => {
      entry.untilMs = nowMs() + KEPT_MS;
      entry.waiting = 0;
    };
    entry.answer.then(keep, keep);
    entries.set(name, entry);
    return entry;
  };

  return async (name) => {
    const known = entries.get(name);
    const entry = known !== undefined && nowMs() < known.untilMs ? known : begin(name);
    if (entry.untilMs === Infinity && ++entry.waiting > MAX_WAITING) throw unanswered(name);
    return entry.answer;
  };
}
