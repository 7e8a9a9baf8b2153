import type { Answer } from "../../test/contract/http.ts";
import { outcomeOf } from "../../test/hostile/expectation.ts";
import { Times } from "../figures.ts";
import { Counts } from "./counts.ts";

/** The maximum number of faults that are printed. Further faults are only counted. */
const MAX_FAULTS = 20;

const DEADLINES: ReadonlySet<string> = new Set(["task_timeout", "task_blocked"]);

/** The figures of one class of attacks. */
export class ClassTally {
  /** The answers by code. */
  readonly outcomes: Counts = new Counts();
  /** The times from the submission to the end of the answer. */
  readonly took: Times = new Times();
  /** The times from the deadline to the end of the answer, for attacks that only a deadline ends. */
  readonly late: Times = new Times();
  /** The number of attacks that a deadline ended before they took effect. A very busy machine causes a few. */
  overdue = 0;
}

/** All figures of one soak. */
export class Tally {
  /** The times of the neighbour's runs before the first attack. */
  readonly quiet: Times = new Times();
  /** The times of the neighbour's runs after the first attack. */
  readonly attacked: Times = new Times();
  /** The times of the next run of a container after an attack that ended its guest. */
  readonly next: Times = new Times();
  readonly good: Counts = new Counts();
  readonly bad: Counts = new Counts();
  readonly classes: Map<string, ClassTally> = new Map();
  /** The number of runs that were refused with a wait, by 429 or 503. These answers are right. */
  turnedAway = 0;
  right = 0;
  wrong = 0;
  /** The descriptions of the first faults. */
  readonly faults: string[] = [];
  /** Descriptions of what escaped from the sandbox. */
  readonly escapes: Set<string> = new Set();

  of(kind: string): ClassTally {
    const figures = this.classes.get(kind) ?? new ClassTally();
    this.classes.set(kind, figures);
    return figures;
  }

  fault(what: string): void {
    this.wrong++;
    if (this.faults.length < MAX_FAULTS) this.faults.push(what);
  }

  /** Counts the answer of an attack. An attack that got too little of the machine may also end by a deadline. */
  judgeAttack(kind: string, what: string, answer: Answer, isRight: boolean): void {
    if (!isRight && DEADLINES.has(codeOf(answer))) this.of(kind).overdue++;
    else this.judge(what, answer, isRight);
  }

  /** Counts a run by whether its answer is right. */
  judge(what: string, answer: Answer, isRight: boolean): void {
    if (isRight) this.right++;
    else if (isTurnedAway(answer)) this.turnedAway++;
    else this.fault(`${what} received ${outcomeOf(answer)}: ${answer.text.slice(0, 300)}`);
  }
}

/** Returns the code of a problem, otherwise the status. */
export function codeOf(answer: Answer): string {
  const isProblem = answer.headers["content-type"]?.startsWith("application/problem+json");
  return isProblem ? outcomeOf(answer).split(" ")[1]! : `${answer.status}`;
}

/** Whether the service refused the run and named a wait. */
export function isTurnedAway(answer: Answer): boolean {
  return [429, 503].includes(answer.status) && "retry-after" in answer.headers;
}
