import { z } from "zod";

import type { ConsoleLine, RunRecord } from "../../records/record.ts";
import { LOG_LEVELS } from "../../wire/messages.ts";
import type { AnswerReader } from "../ask-node.ts";
import { foreign, writeLines } from "./kind.ts";

/** Writes one record: first the record without its console, then the lines of the console. */
export function writeRecord({ console, ...rest }: RunRecord, family: string): Promise<string> {
  return writeLines([{ lines: console.length, record: rest }, ...console], family);
}

const head = z.strictObject({
  lines: z.int().nonnegative(),
  record: z.looseObject({
    run: z.string(),
    container: z.string(),
    task: z.string().nullable(),
    dropped: z.object({ lines: z.int().nonnegative(), bytes: z.int().nonnegative() }),
    error: z.looseObject({}).nullable(),
  }),
});
const consoleLine: z.ZodType<ConsoleLine> = z.strictObject({
  atMs: z.number(),
  level: z.enum(LOG_LEVELS),
  text: z.string(),
});

export class RecordReader implements AnswerReader<RunRecord> {
  readonly #container: string;
  readonly #run: string;
  readonly #console: ConsoleLine[] = [];
  #head: z.infer<typeof head> | null = null;

  constructor(container: string, run: string) {
    this.#container = container;
    this.#run = run;
  }

  line(value: unknown): void {
    if (this.#head !== null) {
      this.#console.push(consoleLine.parse(value));
      return;
    }
    this.#head = head.parse(value);
    const { run, container } = this.#head.record;
    if (run !== this.#run || container !== this.#container) throw foreign();
  }

  end(): RunRecord {
    if (this.#head?.lines !== this.#console.length) throw foreign();
    return { ...this.#head.record, console: this.#console } as unknown as RunRecord;
  }
}

/** Reads that a node has cancelled a run. */
export class CancelledReader implements AnswerReader<true> {
  readonly #run: string;
  #isCancelled = false;

  constructor(run: string) {
    this.#run = run;
  }

  line(value: unknown): void {
    this.#isCancelled = z
      .object({ run: z.literal(this.#run), status: z.literal("cancelled") })
      .safeParse(value).success;
  }

  end(): true {
    if (!this.#isCancelled) throw foreign();
    return true;
  }
}
