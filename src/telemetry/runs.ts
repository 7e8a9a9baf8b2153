import { randomBytes } from "node:crypto";

/** Names runs: a random part for this process, then a count. Never the same twice, on any node. */
export class RunIds {
  readonly #process: string = randomBytes(6).toString("hex");
  #count = 0;

  next(): string {
    return `${this.#process}-${(++this.#count).toString(36)}`;
  }
}
