import type { ConsoleLine } from "../../records/record.ts";
import type { Outcome } from "./execution.ts";
import { type RecordOptions, withEnvelopeOptions } from "./record-options.ts";
import { NO_RESULT, readResult, type RecordResult } from "./record-result.ts";
import { type RecordView, type VisibleRecord, visiblePart } from "./record-view.ts";
import { type AnswerPart, joinLines, lengthOf, textOf } from "./result-json.ts";
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
    await this.#send(trace, await this.#read(outcome));
  }

  /** Sends the record of a run that has failed. */
  fail(trace: RunTrace): Promise<void> {
    return this.#send(trace, NO_RESULT);
  }

  /** Returns the record as the caller may see it, as JSON. */
  async text(trace: RunTrace, outcome: Outcome | null): Promise<string> {
    const result = outcome === null ? NO_RESULT : await this.#read(outcome);
    await trace.measure();
    return textOf(recordParts(visiblePart(trace.kept().record, this.#with.view), result));
  }

  #read(outcome: Outcome): Promise<RecordResult> {
    const { answer, holder } = this.#with;
    return readResult(outcome, {
      mostBytes: this.#options.maxResult ?? MAX_RESULT_BYTES,
      holder,
      grow: (bytes) => answer.grow(bytes),
      isGone: () => answer.isGone,
    });
  }

  async #send(trace: RunTrace, result: RecordResult): Promise<void> {
    const { answer, view, holder } = this.#with;
    const isGone = (): boolean => answer.isGone;
    await trace.measure();
    if (isGone()) return;
    const record = visiblePart(trace.kept().record, view);
    const parts = recordParts(record, result);
    if (!this.#wantsEvents) {
      const length = await lengthOf(parts, holder, isGone);
      return isGone() ? undefined : await answer.sendRecord(parts, length, holder);
    }
    if (result.form === "json") await joinLines(result.bytes, holder);
    const { error, resultType } = record;
    const tail = `,"resultType":${JSON.stringify(resultType)}${formOf(result)}}`;
    const shown = error ? ([JSON.stringify(error)] as const) : (['{"result":', result, tail] as const);
    await answer.endEvents(
      [
        [error ? "error" : "result", shown],
        ["record", parts],
      ],
      holder,
    );
  }
}

/** Returns the record as JSON, with the result after the status. */
function recordParts(record: VisibleRecord, result: RecordResult): AnswerPart[] {
  const { run, container, task, version, trigger, node, token, status, ...others } = record;
  const { resultType, response, console, dropped, error, ...rest } = others;
  // In the order in which a person reads it.
  const first = JSON.stringify({ run, container, task, version, trigger, node, token, status });
  const last = JSON.stringify({ resultType, response, console, dropped, error, ...rest });
  return [`${first.slice(0, -1)},"result":`, result, `${formOf(result)},${last.slice(1)}`];
}

/** Returns the members that say how the result is shown, if it is not the whole JSON. */
function formOf({ form, isTruncated }: RecordResult): string {
  return (form === "base64" ? ',"resultEncoding":"base64"' : "") + (isTruncated ? ',"resultTruncated":true' : "");
}

function acceptsEvents(accept: string | undefined): boolean {
  return accept?.split(",").some((type) => /^\s*text\/event-stream\s*(?:;|$)/i.test(type)) ?? false;
}
