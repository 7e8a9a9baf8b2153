import type { AnsweredRunRecord } from "./api-types.ts";

/** Receives what the author of the code probably meant, with the record of the run. */
export type OnHint = (hint: string, record: AnsweredRunRecord) => void;

/** The different hints that one client prints: code of many authors must not fill the log of the caller. */
const MAX_PRINTED = 20;

/** Passes on the hints of runs that succeeded. */
export class HintNotice {
  readonly #onHint: OnHint;
  readonly #printed = new Set<string>();

  constructor(onHint: OnHint | undefined) {
    if (onHint !== undefined && typeof onHint !== "function")
      throw new TypeError("onHint must be a function, such as (hint) => console.warn(hint)");
    this.#onHint = onHint ?? ((hint) => this.#print(hint));
  }

  of(record: AnsweredRunRecord): void {
    if (typeof record.hint === "string") this.#onHint(record.hint, record);
  }

  #print(hint: string): void {
    if (this.#printed.size === MAX_PRINTED || this.#printed.has(hint)) return;
    this.#printed.add(hint);
    console.warn(`caisson: ${hint}`);
  }
}
