import { codeOf } from "../../src/containers/guest/code-table.ts";
import type { RunListener } from "../../src/containers/guest/guest-run.ts";
import type { Guest } from "../../src/containers/guest/guest.ts";
import type { RunLogSink } from "../../src/containers/guest/run-log.ts";
import type { Refusal } from "../../src/egress/faults.ts";
import type { Problem } from "../../src/errors.ts";
import type { HeadMessage } from "../../src/wire/messages.ts";

/** Takes down what a run is told, in order. */
export class Recorder implements RunListener {
  readonly heard: string[] = [];
  readonly problems: Problem[] = [];
  readonly ended: Promise<void>;
  /** The guest is done with the run. */
  readonly isOver: PromiseWithResolvers<void> = Promise.withResolvers();
  id = -1;
  bodyBytes = 0;
  readonly #end: () => void;
  readonly #waiting: { said: string; resolve: () => void }[] = [];

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#end = resolve;
  }

  /** What ended the run: the text of its result, or the code of its fault. */
  async outcome(): Promise<string> {
    await this.ended;
    return this.heard.at(-1)!;
  }

  /** Waits until the run was told this. @throws {Error} when it ended without. */
  async told(said: string): Promise<void> {
    if (this.heard.includes(said)) return;
    await Promise.race([this.toldLate(said), this.ended]);
    if (!this.heard.includes(said)) throw new Error(`the run was told ${this.heard.join(", ")}, and never ${said}`);
  }

  /** Waits until the run was told this, be it that it had ended before. */
  async toldLate(said: string): Promise<void> {
    if (!this.heard.includes(said)) await new Promise<void>((resolve) => this.#waiting.push({ said, resolve }));
  }

  result(json: Buffer): void {
    this.#take(`result ${json.toString()}`);
    this.#end();
  }

  head(head: HeadMessage): void {
    this.#take(`head ${head.status}`);
  }

  data(bytes: Buffer): void {
    this.bodyBytes += bytes.length;
    this.#take(`data ${bytes.length}`);
  }

  end(): void {
    this.#take("end");
    this.#end();
  }

  fault(problem: Problem): void {
    this.problems.push(problem);
    this.#take(problem.code);
    this.#end();
  }

  over(): void {
    this.isOver.resolve();
  }

  readonly logSink: RunLogSink = {
    log: (level, text) => this.#take(`log ${level} ${text.toString()}`),
    lateError: (problem) => this.#take(`unheard ${problem.message}`),
  };

  refused(refusal: Refusal): void {
    this.#take(`refused ${refusal.host} ${refusal.port} ${refusal.reason}`);
  }

  #take(said: string): void {
    this.heard.push(said);
    for (const { resolve } of this.#waiting.filter((each) => each.said === said)) resolve();
  }
}

/** Starts a run of this source. */
export function start(guest: Guest, source: string, context: () => string = () => "{}"): Recorder {
  const recorder = new Recorder();
  const code = codeOf({ source: Buffer.from(source), typescript: false, modules: null });
  recorder.id = guest.run(code, context, recorder, performance.now());
  return recorder;
}
