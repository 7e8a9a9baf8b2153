import { randomBytes } from "node:crypto";

/** Creates ids of runs from a random part for this process and a counter, so that ids are unique on all nodes. */
export class RunIds {
  /** Names this process: the first part of its ids. */
  readonly process: string = randomBytes(6).toString("hex");
  #count = 0;

  next(): string {
    return `${this.process}-${(++this.#count).toString(36)}`;
  }
}

/** Whether a text has the form of the id of a run. */
export function isRunId(text: string): boolean {
  return /^[0-9a-f]{12}-[0-9a-z]{1,12}$/.test(text);
}
