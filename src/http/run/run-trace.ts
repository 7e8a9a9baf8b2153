import type { EgressUse } from "../../egress/budgets.ts";
import type { Problem } from "../../errors.ts";
import type { KeyUsage } from "../../limits/store.ts";
import type { EndedRun } from "../../records/ended-run.ts";
import type { ConsoleLine, GuestStart, KeptRun, RecordError, RunRecord, RunStatus } from "../../records/record.ts";
import type { RecordPackages } from "../../records/record.ts";
import type { UsageCell } from "../../records/usage/usage.ts";
import type { Caller } from "../../tokens/caller.ts";
import type { RunSecrets } from "../../tokens/secrets/vault.ts";
import { LOG_LEVELS } from "../../wire/messages.ts";
import type { KeptInput } from "./kept-input.ts";
import { KeptLines } from "./kept-lines.ts";
import { recordError } from "./record-error.ts";
import { limitsOf } from "./record-limits.ts";
import { redactionOf } from "./redactions.ts";
import { joinedHeaders } from "./response-headers.ts";
import { type MeteredUse, RunMeter } from "./run-meter.ts";
import { statusOfProblem } from "./run-status.ts";
import type { Admission, TracedRun } from "./traced-run.ts";

/** The approximate memory of a trace without limits, lines and error. */
const TRACE_BYTES = 512;
/** The approximate memory of what was left of the limits of one container or token. */
const USAGE_BYTES = 256;

const LATIN_1 = /^[\0-\xff]*$/;

const NO_LINES: readonly ConsoleLine[] = [];
const NONE_DROPPED = { lines: 0, bytes: 0 };
const NO_EGRESS = { connections: 0, bytesSent: 0, bytesReceived: 0, refused: 0 };

/** What happened in an admitted run. It outlives the request, so it must not refer to the request. */
export class RunTrace implements EndedRun {
  readonly run: string;
  readonly container: string;
  readonly task: { readonly name: string; readonly version: number | null } | null;
  /** The `jti` of the token of the request; null for a public task that was called without a token. */
  readonly token: string | null;
  readonly family: string;
  readonly #network: string | null;
  readonly traceparent: string | null;
  readonly admission: Admission;
  readonly #usage: readonly KeyUsage[];
  status: RunStatus = "running";
  error: RecordError | null = null;
  /** What the author of code without an error probably meant. */
  hint: string | null = null;
  /** Null for most runs, which print nothing. */
  #console: KeptLines | null = null;
  /** What the run counts for. */
  cell: UsageCell | null = null;
  resultType: string | null = null;
  response: { readonly status: number; readonly headers: readonly string[] } | null = null;
  start: GuestStart | null = null;
  /** When the guest received the run, on the same clock; 0 before. */
  sentMs = 0;
  endedMs = 0;
  use: MeteredUse | null = null;
  /** The estimated processor time until the last measurement of the guest. */
  sharedCpuMs = 0;
  /** Set only for runs that are answered with their record. */
  meter: RunMeter | null = null;
  concurrentRuns = 0;
  egress: EgressUse | null = null;
  /** Runs with the same lock share the object. */
  packages: RecordPackages | null = null;
  /** The input until the first reader after the end of the run; afterwards there is only its text. */
  #input: KeptInput | null = null;
  #inputText: string | null = null;
  #inputBytes = 0;
  /** The secrets that are redacted in the input. */
  #secrets: RunSecrets | null = null;
  #bytes = TRACE_BYTES;
  readonly #callers: readonly Caller[];
  readonly #file: string | null;
  readonly #consoleLimit: number;
  #measured: Promise<void> | null = null;

  constructor(
    { run, container, task, bearer, network, callers, traceparent, file, usage }: TracedRun,
    admission: Admission,
  ) {
    this.run = run;
    this.container = container;
    this.task = task;
    this.token = bearer && bearer.claims.jti;
    this.family = (bearer ?? callers[0]!).family;
    this.#network = network;
    this.traceparent = traceparent;
    this.#callers = callers;
    this.#file = file;
    this.#consoleLimit = admission.consoleLimit;
    this.admission = admission;
    this.#usage = usage;
    this.#bytes += usage.length * USAGE_BYTES;
  }

  get startedMs(): number {
    return this.admission.unixMs;
  }

  /** The beginning of the body of the request, if the task keeps it. */
  get input(): string | null {
    if (!this.#input) return this.#inputText;
    const { text, bytes } = this.#input;
    const shown = text !== null && this.#secrets ? redactionOf(this.#secrets).text(text) : text;
    if (this.endedMs > 0) {
      this.#inputText = shown;
      this.#inputBytes = bytes;
      this.#input = null;
      this.#secrets = null;
    }
    return shown;
  }

  /** @param input may grow until the run has ended. */
  keepInput(input: KeptInput, secrets: RunSecrets | null): void {
    this.#input = input;
    this.#secrets = secrets;
  }

  /** What was left of the limits after the admission. */
  get usage(): readonly KeyUsage[] {
    return this.#usage;
  }

  get lines(): readonly ConsoleLine[] {
    return this.#console?.lines ?? NO_LINES;
  }

  get lineBytes(): number {
    return this.#console?.bytes ?? 0;
  }

  /** The console lines that the record does not have. */
  get dropped(): { readonly lines: number; readonly bytes: number } {
    return this.#console ? { lines: this.#console.droppedLines, bytes: this.#console.droppedBytes } : NONE_DROPPED;
  }

  get isWhole(): boolean {
    return !this.#console?.isTrimmed;
  }

  withoutLines(): this {
    (this.#console ??= new KeptLines(this.#consoleLimit)).clear();
    return this;
  }

  get bytes(): number {
    return this.#bytes + this.lineBytes + (this.#input?.bytes ?? this.#inputBytes);
  }

  get isSilent(): boolean {
    const hasInput = this.#input !== null || this.#inputText !== null;
    return this.status === "ok" && this.lines.length === 0 && this.isWhole && !hasInput;
  }

  /** Measures the guest from now on. */
  meterGuest(guest: ConstructorParameters<typeof RunMeter>[0]): void {
    this.meter = new RunMeter(guest);
  }

  /** @param sentMs when the service sent the run to its guest, on the clock of `performance.now()`. */
  sent(start: GuestStart, sentMs: number, otherRuns: number): void {
    this.start = start;
    this.sentMs = sentMs;
    this.concurrentRuns = otherRuns;
  }

  /**
   * Keeps a line within the bounds.
   *
   * @param text returns the text without secrets; called only if the line is kept.
   * @returns the line, or null if it is dropped.
   */
  print(level: number, bytes: number, text: () => string): ConsoleLine | null {
    // The record of an ended run does not change any more.
    if (this.endedMs > 0) return null;
    const atMs = Math.round((performance.now() - this.sentMs) * 10) / 10;
    this.#console ??= new KeptLines(this.#consoleLimit);
    return this.#console.add(bytes, () => ({ atMs, level: LOG_LEVELS[level] ?? "info", text: text() }));
  }

  /** @param headers name, value, name, value; without secrets. */
  responded(status: number, headers: readonly string[]): void {
    this.response = { status, headers };
    for (const text of headers) this.#bytes += text.length;
  }

  /** @param problem the failure, without secrets. The first one decides the status. */
  failed(problem: Problem): void {
    if (this.status !== "running") return;
    this.status = statusOfProblem(problem.code);
    this.error = recordError(problem, this.#file);
    this.#bytes += textBytesOf(this.error);
  }

  hinted(hint: string): void {
    this.hint = hint;
    this.#bytes += textBytesOf({ hint });
  }

  hintLate(hint: string): number {
    if (this.error !== null || this.hint !== null) return 0;
    const before = this.#bytes;
    this.hinted(hint);
    return this.#bytes - before;
  }

  /** The service ended before the run, unless the run has a result or failed by itself. */
  interrupted(): void {
    if (this.status === "cancelled" || this.status === "failed") this.status = "interrupted";
  }

  succeeded(resultType: string): void {
    if (this.status !== "running") return;
    this.status = "ok";
    this.resultType = resultType;
  }

  /** The `jti` of the tokens that the run is counted for, and of the tokens above them. */
  get lineage(): readonly string[] {
    const [caller, bearer] = this.#callers;
    const { jti, parents } = caller!.claims;
    const own = parents.length === 0 ? [jti] : [jti, ...parents];
    if (!bearer) return own;
    return [...new Set([...own, bearer.claims.jti, ...bearer.claims.parents])];
  }

  /** Reads what the guest has used until now. */
  measure(): Promise<void> {
    this.#measured ??= (async () => {
      if (this.meter) this.use = await this.meter.read();
      this.meter = null;
    })();
    return this.#measured;
  }

  kept(): KeptRun {
    const { family, lineage, startedMs } = this;
    return { record: makeRecord(this), family, network: this.#network, lineage, startedMs };
  }
}

/** Makes the record of a run. It is complete when the run has ended. */
function makeRecord(trace: RunTrace): RunRecord {
  const { admission, task, sentMs, endedMs, error, input } = trace;
  const endMs = endedMs || performance.now();
  return {
    run: trace.run,
    container: trace.container,
    task: task?.name ?? null,
    version: task?.version ?? null,
    trigger: "call",
    node: admission.node,
    token: trace.token,
    status: trace.status,
    resultType: trace.resultType,
    response: trace.response && { status: trace.response.status, headers: joinedHeaders(trace.response.headers) },
    console: trace.lines,
    dropped: trace.dropped,
    error,
    hint: error ? error.hint : trace.hint,
    startedAt: new Date(trace.startedMs).toISOString(),
    ms: {
      queue: tenths(admission.nowMs - admission.arrivedMs),
      start: sentMs === 0 ? null : tenths(sentMs - admission.nowMs),
      run: sentMs === 0 ? null : tenths(endMs - sentMs),
    },
    start: trace.start,
    guest: {
      cpuMs: trace.use === null || trace.use.cpuMs === null ? null : tenths(trace.use.cpuMs),
      memoryPeakBytes: trace.use?.memoryPeakBytes ?? null,
      concurrentRuns: trace.concurrentRuns,
    },
    egress: { ...(trace.egress ?? NO_EGRESS) },
    traceparent: trace.traceparent,
    limits: limitsOf(trace.usage, admission),
    ...(trace.packages !== null && { packages: trace.packages }),
    ...(input !== null && { input }),
  };
}

/** Returns the memory of all texts of an error. A guest can make any of them long. */
function textBytesOf(error: object): number {
  let bytes = 0;
  for (const value of Object.values(error)) {
    // V8 keeps a text with other characters than those of Latin-1 in two bytes each.
    if (typeof value === "string") bytes += LATIN_1.test(value) ? value.length : 2 * value.length;
    else if (typeof value === "object" && value !== null) bytes += textBytesOf(value as object);
  }
  return bytes;
}

function tenths(milliseconds: number): number {
  return Math.max(0, Math.round(milliseconds * 10) / 10);
}
