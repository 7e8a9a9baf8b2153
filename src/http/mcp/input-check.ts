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
/** The processor time that slow checks of one family may take in a minute: no limit of runs has counted them. */
const SLOW_MS_A_MINUTE = 5_000;
/** The most slow schemas and slow families that are remembered, each for a minute. */
const MAX_REMEMBERED = 1_000;

/** The times that bound checks. */
export interface CheckBounds {
  readonly checkMs: number;
  readonly quickMs: number;
  readonly slowMsAMinute: number;
}

const BOUNDS: CheckBounds = { checkMs: CHECK_MS, quickMs: QUICK_MS, slowMsAMinute: SLOW_MS_A_MINUTE };

interface SlowFamily {
  /** Until when the other thread makes its checks. */
  readonly untilMs: number;
  /** The time that these have taken. */
  takenMs: number;
}

/** Checks the inputs of tasks. No slow check makes the checks of other families wait for long. */
export class InputChecks {
  readonly #bounds: CheckBounds;
  readonly #quick: SchemaChecker;
  /** Repeats the checks that take longer in the quick thread, and makes those of families of which one did. */
  readonly #slow: SchemaChecker;
  /** The end of the refusal of slow schemas, by the etags of their tasks. */
  readonly #refused = new Map<string, number>();
  readonly #families = new Map<string, SlowFamily>();

  constructor(bounds: CheckBounds = BOUNDS) {
    this.#bounds = bounds;
    this.#quick = new SchemaChecker(bounds.quickMs);
    this.#slow = new SchemaChecker(bounds.checkMs);
  }

  /**
   * Checks the input of a task against its schema.
   *
   * @param holder the token family of the caller
   * @throws {Problem} `request_invalid` with the faults, `token_limited` if slow checks of the family have taken too much time
   */
  async check({ etag, input: schema }: Pick<Task, "etag" | "input">, input: unknown, holder: string): Promise<void> {
    if (schema === null) return;
    const late = tooSlow(this.#bounds);
    if ((this.#refused.get(etag) ?? 0) > performance.now()) throw late;
    const checked = await this.#evaluate({ schema, input }, holder);
    if (checked === null) {
      remember(this.#refused, etag, performance.now() + MINUTE_MS);
      throw late;
    }
    const { faults } = checked;
    if (faults.length === 0) return;
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

  async #evaluate(request: SchemaRequest, holder: string): Promise<Checked | null> {
    if (!this.#slowFamily(holder)) {
      const checked = await this.#quick.check(holder, request);
      if (checked !== null) return checked;
    }
    const family = this.#slowFamily(holder) ?? { untilMs: performance.now() + MINUTE_MS, takenMs: 0 };
    remember(this.#families, holder, family);
    if (family.takenMs >= this.#bounds.slowMsAMinute) throw tooManySlow(family, this.#bounds);
    const checked = await this.#slow.check(holder, request);
    family.takenMs += checked?.cpuMs ?? this.#bounds.checkMs;
    return checked;
  }

  #slowFamily(holder: string): SlowFamily | null {
    const family = this.#families.get(holder);
    return family && family.untilMs > performance.now() ? family : null;
  }
}

const checks = new InputChecks();

/** As `InputChecks`, for all requests of this process. */
export function checkInput(task: Task, input: unknown, holder: string): Promise<void> {
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
    hint: "The owner of the task must simplify its input schema, such as its patterns and its references.",
  });
}

function tooManySlow({ untilMs }: SlowFamily, { slowMsAMinute }: CheckBounds): Problem {
  const seconds = slowMsAMinute / 1_000;
  return new Problem("token_limited", `slow checks of inputs took ${seconds} s in this minute, which is the maximum`, {
    hint: "The owner of the task must simplify its input schema, such as its patterns and its references.",
    retryAfterMs: Math.max(1, untilMs - performance.now()),
  });
}
