import { z } from "zod";

import type { RecordConfig } from "../../config/groups/records.ts";
import type { ConsoleLine, RunRecord } from "../../records/record.ts";
import { LOG_LEVELS } from "../../wire/messages.ts";
import type { AnswerReader } from "../ask-node.ts";
import { foreign, writeLines } from "./kind.ts";
import { READ_MEMBERS } from "./read-members.ts";

/** The characters of an input in one line: a line is parsed in one turn of the event loop. */
const PIECE_CHARS = 65_536;

/** Writes one record: first the record without its console and its input, then the pieces of the input, and the lines. */
export function writeRecord({ console, input, ...rest }: RunRecord, family: string): Promise<string> {
  const pieces: { readonly input: string }[] = [];
  for (let at = 0; at < (input?.length ?? 0); at += PIECE_CHARS) {
    pieces.push({ input: input!.slice(at, at + PIECE_CHARS) });
  }
  const head = { lines: console.length, pieces: input === undefined ? null : pieces.length, record: rest };
  return writeLines([head, ...pieces, ...console], family);
}

const head = z.strictObject({
  lines: z.int().nonnegative(),
  pieces: z.int().nonnegative().nullable(),
  record: z.looseObject({
    ...READ_MEMBERS,
    dropped: z.object({ lines: z.int().nonnegative(), bytes: z.int().nonnegative() }),
  }),
});
const inputPiece = z.strictObject({ input: z.string() });
const consoleLine: z.ZodType<ConsoleLine> = z.strictObject({
  atMs: z.number(),
  level: z.enum(LOG_LEVELS),
  text: z.string(),
});

/** The bounds of a record of this node. */
export type RecordBounds = Pick<RecordConfig, "consoleLimit" | "inputLimit">;

/** How many times as much another node may keep of a run: a change of its settings reaches the nodes one after the other. */
const TOLERANCE = 4;
/** The memory of a line in addition to its text. */
const LINE_BYTES = 64;

export class RecordReader implements AnswerReader<RunRecord> {
  readonly #container: string;
  readonly #run: string;
  readonly #console: ConsoleLine[] = [];
  readonly #input: string[] = [];
  #head: z.infer<typeof head> | null = null;
  #left: number;

  constructor(container: string, run: string, { consoleLimit, inputLimit }: RecordBounds) {
    this.#container = container;
    this.#run = run;
    this.#left = TOLERANCE * (consoleLimit + inputLimit);
  }

  line(value: unknown): void {
    if (this.#head !== null) {
      if (this.#input.length < (this.#head.pieces ?? 0)) this.#input.push(this.#kept(inputPiece.parse(value).input));
      else {
        const line = consoleLine.parse(value);
        this.#kept(line.text);
        this.#console.push(line);
      }
      return;
    }
    this.#head = head.parse(value);
    const { run, container } = this.#head.record;
    if (run !== this.#run || container !== this.#container) throw foreign();
  }

  end(): RunRecord {
    if (this.#head?.lines !== this.#console.length) throw foreign();
    const { record, pieces } = this.#head;
    if ((pieces ?? 0) !== this.#input.length) throw foreign();
    const input = pieces === null ? {} : { input: this.#input.join("") };
    return { ...record, ...input, console: this.#console } as unknown as RunRecord;
  }

  /** @throws {Error} if the record is longer than any that a node keeps: an answer to a model is written in one step */
  #kept(text: string): string {
    this.#left -= text.length + LINE_BYTES;
    if (this.#left < 0) throw foreign();
    return text;
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
