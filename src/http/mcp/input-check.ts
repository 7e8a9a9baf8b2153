import { Problem } from "../../errors.ts";
import type { Task } from "../../tasks/task.ts";
import { type Checked, SchemaChecker } from "./schema-checker.ts";
import type { SchemaRequest } from "./schema-messages.ts";

/**
 * The longest check. A tenant writes the schema, and a regular expression or references that branch can take any time. So another
 * thread checks it, and ends with a check that takes longer.
 */
const CHECK_MS = 500;
/** The longest check of a family that has made no other wait lately. Most checks take a millisecond. */
const QUICK_MS = 50;
const MINUTE_MS = 60_000;
/** The processor time that checks of one family may take in a minute if no limit of runs has counted them. */
const MS_A_MINUTE = 5_000;
/** The most slow schemas and families that are remembered, each for a minute. */
const MAX_REMEMBERED = 1_000;

/** The times that bound checks. */
export interface CheckBounds {
  readonly checkMs: number;
  readonly quickMs: number;
  readonly msAMinute: number;
}

const BOUNDS: CheckBounds = { checkMs: CHECK_MS, quickMs: QUICK_MS, msAMinute: MS_A_MINUTE };

/** What the checks of a family have taken in its minute. */
interface FamilyMinute {
  endMs: number;
  takenMs: number;
  /** Whether the other thread makes its checks, because one of them was not quick. */
  isSlow: boolean;
}

/** Takes the time of a check back, for a check whose run is counted. */
export type Uncount = () => void;
const NOTHING: Uncount = () => {};

/** Checks the inputs of tasks. No slow check makes the checks of other families wait for long. */
export class InputChecks {
  readonly #bounds: CheckBounds;
  readonly #quick: SchemaChecker;
  /** Repeats the checks that take longer in the quick thread, and makes those of families of which one did. */
  readonly #slow: SchemaChecker;
  /**
   * The end of the refusal of slow schemas, by token family and the etag of the task. The input may be the cause, and then the schema
   * is quick for other families.
   */
  readonly #refused = new Map<string, number>();
  readonly #families = new Map<string, FamilyMinute>();

  constructor(bounds: CheckBounds = BOUNDS) {
    this.#bounds = bounds;
    this.#quick = new SchemaChecker(bounds.quickMs);
    this.#slow = new SchemaChecker(bounds.checkMs);
  }

  /**
   * Checks the input of a task against its schema.
   *
   * @param holder the token family of the caller
   * @throws {Problem} `request_invalid` with the faults, `token_limited` if checks of the family have taken too much time
   */
  async check({ etag, input: schema }: Pick<Task, "etag" | "input">, input: unknown, holder: string): Promise<Uncount> {
    if (schema === null) return NOTHING;
    const late = tooSlow(this.#bounds);
    const name = `${holder} ${etag}`;
    if ((this.#refused.get(name) ?? 0) > performance.now()) throw late;
    const checked = await this.#evaluate({ schema, input }, holder);
    if (checked === null) {
      remember(this.#refused, name, performance.now() + MINUTE_MS);
      throw late;
    }
    const { faults, uncount } = checked;
    if (faults.length === 0) return uncount;
    const violations = faults.map(({ member, detail }) => ({ member, detail }));
    throw new Problem("request_invalid", "the arguments do not match the input schema of the tool", {
      hint: "Nothing was run. Correct the arguments, and call the tool again.",
      violations,
    });
  }

  /** Starts the threads before their first check. */
  async load(): Promise<void> {
    const request = { schema: { type: "object" }, input: {} };
    await Promise.all([this.#quick, this.#slow].map((checker) => checker.check("", request)));
  }

  async #evaluate(request: SchemaRequest, holder: string): Promise<(Checked & { readonly uncount: Uncount }) | null> {
    const { quickMs, checkMs } = this.#bounds;
    this.#mustHaveTime(holder);
    if (!this.#minuteOf(holder).isSlow) {
      let uncount = NOTHING;
      const end = (checked: Checked | null): void => {
        const minute = this.#minuteOf(holder);
        const takenMs = checked?.cpuMs ?? quickMs;
        minute.takenMs += takenMs;
        uncount = () => (minute.takenMs -= takenMs);
        if (checked === null) Object.assign(minute, { isSlow: true, endMs: performance.now() + MINUTE_MS });
      };
      const checked = await this.#quick.check(holder, request, { begin: () => this.#mustHaveTime(holder), end });
      if (checked !== null) return { ...checked, uncount };
    }
    const end = (checked: Checked | null): void => {
      this.#minuteOf(holder).takenMs += checked?.cpuMs ?? checkMs;
    };
    const checked = await this.#slow.check(holder, request, { begin: () => this.#mustHaveTime(holder), end });
    // No limit of runs expects that a run costs the service so much.
    return checked && { ...checked, uncount: NOTHING };
  }

  #mustHaveTime(holder: string): void {
    const minute = this.#minuteOf(holder);
    if (minute.takenMs >= this.#bounds.msAMinute) throw tooMuchTime(minute, this.#bounds);
  }

  /** Returns the current minute of a family, or begins one. */
  #minuteOf(holder: string): FamilyMinute {
    const known = this.#families.get(holder);
    const nowMs = performance.now();
    const minute = known && known.endMs > nowMs ? known : { endMs: nowMs + MINUTE_MS, takenMs: 0, isSlow: false };
    remember(this.#families, holder, minute);
    return minute;
  }
}

const checks = new InputChecks();

/** As `InputChecks`, for all requests of this process. */
export function checkInput(task: Task, input: unknown, holder: string): Promise<Uncount> {
  return checks.check(task, input, holder);
}

/** Starts the threads before their first check, for a service that cannot read their program later. */
export function loadInputCheck(): Promise<void> {
  return checks.load();
}

function remember<T>(all: Map<string, T>, name: string, value: T): void {
  all.delete(name);
  all.set(name, value);
  if (all.size > MAX_REMEMBERED) all.delete(all.keys().next().value!);
}

function tooSlow({ checkMs }: CheckBounds): Problem {
  return new Problem("request_invalid", `the check of the input took longer than ${checkMs} ms; nothing was run`, {
    hint: "Send a smaller input. Or the owner of the task must simplify its input schema, such as its patterns and its references.",
  });
}

function tooMuchTime({ endMs }: FamilyMinute, { msAMinute }: CheckBounds): Problem {
  const detail = `checks of inputs took ${msAMinute / 1_000} s in this minute without a run, which is the maximum`;
  return new Problem("token_limited", detail, {
    hint: "Correct the arguments before the next call. The owner of the task may have to simplify its input schema, such as its patterns and its references.",
    retryAfterMs: Math.max(1, endMs - performance.now()),
  });
}
