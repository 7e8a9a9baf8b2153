import type { Answer } from "../../test/contract/http.ts";
import { outcomeOf } from "../../test/hostile/expectation.ts";
import { Times } from "../figures.ts";
import { Counts } from "./counts.ts";

/** Told in full; of the rest only how many. */
const TOLD = 20;

const DEADLINES: ReadonlySet<string> = new Set(["task_timeout", "task_blocked"]);

/** What is known of one class of attacks. */
export class ClassTally {
  /** As answered. */
  readonly outcomes: Counts = new Counts();
  /** From the submission to the end of the answer. */
  readonly took: Times = new Times();
  /** From the deadline to the end of the answer, of those that only a deadline ends. */
  readonly late: Times = new Times();
  /** Those that a deadline ended before they had come to what they are for: on a machine that is very busy, a few. */
  overdue = 0;
}

/** All figures of one soak. */
export class Tally {
  /** The neighbour's runs before the first attack, and after it. */
  readonly quiet: Times = new Times();
  readonly attacked: Times = new Times();
  /** From the answer of an attack that cost its guest to that of the next run of its container. */
  readonly next: Times = new Times();
  readonly good: Counts = new Counts();
  readonly bad: Counts = new Counts();
  readonly classes: Map<string, ClassTally> = new Map();
  /** Turned away with a wait: 429 and 503. They are right answers, and say nothing else. */
  turnedAway = 0;
  right = 0;
  wrong = 0;
  /** The first of them, in words. */
  readonly faults: string[] = [];
  /** What got out of the sandbox. */
  readonly escapes: Set<string> = new Set();

  of(kind: string): ClassTally {
    const known = this.classes.get(kind) ?? new ClassTally();
    this.classes.set(kind, known);
    return known;
  }

  fault(what: string): void {
    this.wrong++;
    if (this.faults.length < TOLD) this.faults.push(what);
  }

  /** As `judge`, for an attack of a class: one that got too little of the machine may also end by a deadline. */
  judgeAttack(kind: string, what: string, answer: Answer, isRight: boolean): void {
    if (!isRight && DEADLINES.has(codeOf(answer))) this.of(kind).overdue++;
    else this.judge(what, answer, isRight);
  }

  /** A run that was answered as it should be, or not. */
  judge(what: string, answer: Answer, isRight: boolean): void {
    if (isRight) this.right++;
    else if (isTurnedAway(answer)) this.turnedAway++;
    else this.fault(`${what} was answered ${outcomeOf(answer)}: ${answer.text.slice(0, 300)}`);
  }
}

/** Of a problem, else the status. */
export function codeOf(answer: Answer): string {
  const isProblem = answer.headers["content-type"]?.startsWith("application/problem+json");
  return isProblem ? outcomeOf(answer).split(" ")[1]! : `${answer.status}`;
}

/** The service has no room, and says when to come again. */
export function isTurnedAway(answer: Answer): boolean {
  return [429, 503].includes(answer.status) && "retry-after" in answer.headers;
}
