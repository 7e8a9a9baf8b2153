import { codeOf } from "../../src/containers/guest/code-table.ts";
import type { RunListener, RunOptions } from "../../src/containers/guest/guest-run.ts";
import type { Guest } from "../../src/containers/guest/guest.ts";
import type { RunLogSink } from "../../src/containers/guest/run-log.ts";
import type { Refusal } from "../../src/egress/faults.ts";
import type { Problem } from "../../src/errors.ts";
import type { HeadMessage } from "../../src/wire/messages.ts";

/** Records the events of a run, in order. */
export class Recorder implements RunListener {
  readonly events: string[] = [];
  readonly problems: Problem[] = [];
  readonly ended: Promise<void>;
  /** Resolves when the guest has finished the run. */
  readonly isOver: PromiseWithResolvers<void> = Promise.withResolvers();
  id = -1;
  bodyBytes = 0;
  readonly #end: () => void;
  readonly #waiting: { event: string; resolve: () => void }[] = [];

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#end = resolve;
  }

  /** Returns the event that ended the run: its result, or the code of its fault. */
  async outcome(): Promise<string> {
    await this.ended;
    return this.events.at(-1)!;
  }

  /** Waits until the run has received this event. @throws {Error} if the run ends without it. */
  async received(event: string): Promise<void> {
    if (this.events.includes(event)) return;
    await Promise.race([this.receivedLate(event), this.ended]);
    if (!this.events.includes(event)) throw new Error(`the run received ${this.events.join(", ")}, and never ${event}`);
  }

  /** Waits until the run has received this event, also after its end. */
  async receivedLate(event: string): Promise<void> {
    if (!this.events.includes(event)) await new Promise<void>((resolve) => this.#waiting.push({ event, resolve }));
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
    lateError: (problem) => this.#take(`late error ${problem.message}`),
  };

  usesEgress(): void {}

  refused(refusal: Refusal): void {
    this.#take(`refused ${refusal.host} ${refusal.port} ${refusal.reason}`);
  }

  #take(event: string): void {
    this.events.push(event);
    for (const { resolve } of this.#waiting.filter((each) => each.event === event)) resolve();
  }
}

/** Starts a run of this source. */
export function start(
  guest: Guest,
  source: string,
  context: () => string = () => "{}",
  options: RunOptions = {},
): Recorder {
  const recorder = new Recorder();
  const code = codeOf({ source: Buffer.from(source), typescript: false, modules: null });
  recorder.id = guest.run(code, context, recorder, performance.now(), options);
  return recorder;
}
