import type { ConsoleLine } from "../../records/record.ts";
import type { Outcome } from "./execution.ts";
import { type RecordOptions, withEnvelopeOptions } from "./record-options.ts";
import { NO_RESULT, readResult, type RecordResult } from "./record-result.ts";
import { type RecordView, type VisibleRecord, visiblePart } from "./record-view.ts";
import type { RunAnswer } from "./run-answer.ts";
import type { RunTrace } from "./run-trace.ts";

export interface RecordAnswerParts {
  readonly answer: RunAnswer;
  readonly options: RecordOptions;
  readonly view: RecordView;
  /** As `holder` of `nextTurn`. */
  readonly holder: string;
  /** The most bytes of a result. */
  readonly resultLimit: number;
  /** The value of the header `Accept`. */
  readonly accept: string | undefined;
}

/** The bytes of a result that a record shows if the request asks for no other size. */
const MAX_RESULT_BYTES = 256 * 2 ** 10;

/** Answers a run with its record, or with events of which the record is the last. */
export class RecordAnswer {
  /** Receives each line of the console at once. */
  onLine: ((line: ConsoleLine) => void) | null = null;
  readonly #with: RecordAnswerParts;
  readonly #wantsEvents: boolean;
  #options: RecordOptions;

  constructor(parts: RecordAnswerParts) {
    this.#with = parts;
    this.#options = parts.options;
    this.#wantsEvents = acceptsEvents(parts.accept);
  }

  get options(): RecordOptions {
    return this.#options;
  }

  /** Adds the options of an envelope. @throws {Problem} `request_invalid` */
  accept(members: Readonly<Record<string, unknown>>): void {
    this.#options = withEnvelopeOptions(this.#options, members, this.#with.resultLimit);
  }

  /** Called after the admission: a client that asked for events receives the console from now on. */
  begin(): void {
    if (!this.#wantsEvents) return;
    const { answer, view } = this.#with;
    answer.openEvents();
    if (view.console) this.onLine = (line) => answer.event("console", JSON.stringify(line));
  }

  /** Sends the record of a run with an answer. Waits for the end of a streamed answer. */
  async finish(trace: RunTrace, outcome: Outcome): Promise<void> {
    const result = await readResult(outcome, this.#options.maxResult ?? MAX_RESULT_BYTES, this.#with.holder);
    await this.#send(trace, result);
  }

  /** Sends the record of a run that has failed. */
  fail(trace: RunTrace): Promise<void> {
    return this.#send(trace, NO_RESULT);
  }

  /** Returns the record as the caller may see it, as JSON. */
  async text(trace: RunTrace, outcome: Outcome | null): Promise<string> {
    const most = this.#options.maxResult ?? MAX_RESULT_BYTES;
    const result = outcome === null ? NO_RESULT : await readResult(outcome, most, this.#with.holder);
    await trace.measure();
    return recordText(visiblePart(trace.kept().record, this.#with.view), result);
  }

  async #send(trace: RunTrace, result: RecordResult): Promise<void> {
    const { answer, view } = this.#with;
    await trace.measure();
    const record = visiblePart(trace.kept().record, view);
    const text = recordText(record, result);
    if (!this.#wantsEvents) return answer.sendRecord(text);
    const { error, resultType } = record;
    const shown = `{"result":${result.json},"resultType":${JSON.stringify(resultType)}${cut(result)}}`;
    answer.endEvents([error ? ["error", JSON.stringify(error)] : ["result", shown], ["record", text]]);
  }
}

/** Returns the record as JSON, with the result after the status. The result is JSON text already. */
function recordText(record: VisibleRecord, result: RecordResult): string {
  const { run, container, task, version, trigger, node, token, status, ...others } = record;
  const { resultType, response, console, dropped, error, ...rest } = others;
  // In the order in which a person reads it.
  const first = JSON.stringify({ run, container, task, version, trigger, node, token, status });
  const last = JSON.stringify({ resultType, response, console, dropped, error, ...rest });
  return `${first.slice(0, -1)},"result":${result.json}${cut(result)},${last.slice(1)}`;
}

function cut({ isTruncated }: RecordResult): string {
  return isTruncated ? ',"resultTruncated":true' : "";
}

function acceptsEvents(accept: string | undefined): boolean {
  return accept?.split(",").some((type) => /^\s*text\/event-stream\s*(?:;|$)/i.test(type)) ?? false;
}
