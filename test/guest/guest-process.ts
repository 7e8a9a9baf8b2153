import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

import { resultHint } from "../../src/containers/guest/hint-texts.ts";
import { guestArguments } from "../../src/sandbox/program/guest-program.ts";
import { makeFolder, makeProgram } from "../../src/sandbox/program/make-program.ts";
import { encodeCode } from "../../src/wire/code-message.ts";
import { bytesFrame, FrameReader, type OnFrame, Outbox, textFrame } from "../../src/wire/frames.ts";
import {
  type AbortReason,
  DATA_BYTES,
  DATA_FRAME_COST_BYTES,
  type FaultMessage,
  FROM_GUEST,
  type HeadMessage,
  LOG_LEVELS,
  type RunContext,
  TO_GUEST,
  WINDOW_BYTES,
} from "../../src/wire/messages.ts";
import { encodePackages } from "../../src/wire/package-message.ts";
import { decodeResultHint } from "../../src/wire/result-hints.ts";

/** The outcome of one run. */
export interface Outcome {
  result?: string;
  fault?: FaultMessage;
  head?: HeadMessage;
  body: string;
  bytes: Buffer;
  bodyBytes: number;
  /** The number of frames of the body. */
  frames: number;
  /** Whether the body ended without a fault. */
  ended: boolean;
  /** Whether the guest closed the link before it answered. */
  disconnected: boolean;
}

export interface LogEntry {
  run: number;
  level: string;
  text: string;
}

interface Pending {
  outcome: Outcome;
  chunks: Buffer[];
  refill: boolean;
  /** The bytes that the guest may still send. */
  credit: number;
  done: (outcome: Outcome) => void;
  /** Called at each data frame. */
  onData: ((bytesSoFar: number) => void) | null;
}

export interface CodeOptions {
  typescript?: boolean;
  modules?: Record<string, string>;
  parseOnly?: boolean;
  lastValue?: boolean;
  /** The id of packages that were sent. */
  packagesId?: number;
  cachesPackages?: boolean;
}

export interface StartedRun {
  id: number;
  outcome: Promise<Outcome>;
}

const LIMITS = {
  ...{ memoryBytes: 128 * 2 ** 20, threads: 32, cpuCores: 1, tmpBytes: 0, descriptors: 256, resultBytes: 6_291_456 },
  logs: { bytes: 262_144, linesPerSecond: 1_000 },
};
const MAX_BODY_BYTES = 4 * 2 ** 20;
/** Made once for all guests of a file: a guest that Node starts from the source takes six times as much processor time. */
let guestProgram: Promise<string> | null = null;

/** The program that guests are started from, as the service makes it. */
async function makeGuestProgram(): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), "caisson-guest-program-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const made = path.join(folder, "program");
  await makeFolder(made);
  await makeProgram(made);
  return path.join(made, "guest/main.js");
}

/** A guest without its sandbox. It exchanges frames with the test as it does with the service. */
export class GuestProcess {
  readonly logs: LogEntry[] = [];
  /** By run: the hint about its result. */
  readonly resultHints: Map<number, string> = new Map();
  /** The failures that no answer reports. */
  readonly lateErrors: { run: number; fault: FaultMessage }[] = [];
  /** By code id: 1 if the code takes a context, otherwise 0. */
  readonly compiled: Map<number, number> = new Map();
  readonly exited: Promise<number | null>;
  /** Receives the line of a statement whose value a body may have meant to return. */
  onUnreturned: ((line: number) => void) | null = null;
  /** Receives the frames about streams and lookups. */
  onNetwork: OnFrame | null = null;
  readonly #child: ChildProcess;
  readonly #outbox: Outbox;
  readonly #socket: Socket;
  readonly #runs: Map<number, Pending> = new Map();
  /** The bodies of runs that the guest has not received completely. */
  readonly #bodies: Map<number, { rest: Buffer; credit: number }> = new Map();
  readonly #waiting: { done: (frame: { type: number; id: number }) => void; type: number }[] = [];
  #nextId = 1;

  private constructor(main: string) {
    this.#child = spawn(process.execPath, guestArguments(main, LIMITS), {
      stdio: ["ignore", "ignore", "inherit", "pipe"],
      env: {},
    });
    this.#socket = this.#child.stdio[3] as Socket;
    const reader = new FrameReader(64 * 1024 * 1024, (type, id, payload) => this.#onFrame(type, id, payload));
    this.#socket.on("data", (chunk: Buffer) => reader.push(chunk));
    this.#socket.on("error", () => {});
    this.#outbox = new Outbox((bytes) => void this.#socket.write(bytes));
    this.exited = new Promise((resolve) => {
      this.#child.once("exit", (code) => resolve(code));
    });
    this.#socket.once("close", () => {
      for (const { outcome, done } of this.#runs.values()) done({ ...outcome, disconnected: true });
    });
  }

  /** Starts a guest and waits until it is warm. */
  static async start(): Promise<GuestProcess> {
    guestProgram ??= makeGuestProgram();
    const guest = new GuestProcess(await guestProgram);
    await guest.frame(FROM_GUEST.ready);
    return guest;
  }

  /** The bytes of bodies that the guest has not asked for yet. */
  get unsentBytes(): number {
    return this.#bodies.values().reduce((sum, { rest }) => sum + rest.length, 0);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Sends code and returns its id. */
  code(source: string, options: CodeOptions = {}): number {
    const id = this.#nextId++;
    const message = {
      source: Buffer.from(source),
      typescript: options.typescript ?? false,
      modules: options.modules ?? null,
      parseOnly: options.parseOnly ?? false,
      lastValue: options.lastValue ?? false,
      packagesId: options.packagesId ?? 0,
      cachesPackages: options.cachesPackages ?? false,
    };
    this.#outbox.push(bytesFrame(TO_GUEST.code, id, ...encodeCode(message)));
    return id;
  }

  /** Sends packages and returns their id. */
  packages(artefact: Buffer, cache: Buffer | null = null): number {
    const id = this.#nextId++;
    this.#outbox.push(bytesFrame(TO_GUEST.packages, id, ...encodePackages(artefact, cache)));
    return id;
  }

  forgetPackages(packages: number): void {
    this.#outbox.push(bytesFrame(TO_GUEST.forgetPackages, packages));
  }

  /** Starts a run of code that was sent. */
  start(
    code: number,
    context: Partial<RunContext> | null = {},
    options: {
      refill?: boolean;
      onData?: (bytesSoFar: number) => void;
      body?: Buffer;
      caller?: number;
      isPreflight?: boolean;
    } = {},
  ): StartedRun {
    const id = this.#nextId++;
    const { body, caller = 1 } = options;
    const head = Buffer.alloc(body ? 12 : 4);
    head.writeUInt32LE(code);
    if (body) {
      head.writeUInt32LE(MAX_BODY_BYTES, 4);
      head.writeUInt32LE(caller, 8);
    }
    const full = {
      runId: `run-${id}`,
      container: "demo",
      method: "POST",
      url: "http://localhost/api/run/demo",
      headers: {},
    };
    const text = context === null ? "" : JSON.stringify({ ...full, ...context });
    const outcome = new Promise<Outcome>((done) => {
      this.#runs.set(id, {
        outcome: { body: "", bytes: Buffer.alloc(0), bodyBytes: 0, frames: 0, ended: false, disconnected: false },
        chunks: [],
        refill: options.refill ?? true,
        credit: WINDOW_BYTES,
        onData: options.onData ?? null,
        done,
      });
    });
    const withoutBody = options.isPreflight ? TO_GUEST.preflight : TO_GUEST.run;
    this.#outbox.push(bytesFrame(body ? TO_GUEST.runWithBody : withoutBody, id, head, Buffer.from(text)));
    if (body) this.#sendBody(id, { rest: body, credit: WINDOW_BYTES });
    return { id, outcome };
  }

  /** Sends code, runs it once and returns the outcome. */
  async run(source: string, context: Partial<RunContext> = {}, options: CodeOptions = {}): Promise<Outcome> {
    return this.start(this.code(source, options), context).outcome;
  }

  /** Returns the result of a run as a value. Throws if the run has none. */
  async value(source: string, context: Partial<RunContext> = {}, options: CodeOptions = {}): Promise<unknown> {
    const { result, fault } = await this.run(source, context, options);
    if (result === undefined) throw new Error(`no result: ${JSON.stringify(fault)}`);
    return JSON.parse(result);
  }

  /** Runs this number of different texts. After the first hundred, a guest compiles texts in another way. */
  async sendTexts(count: number): Promise<void> {
    for (let index = 0; index < count; index++) await this.run(`${index}`);
  }

  /** Returns the fault of a run. Throws if the run has none. */
  async fault(source: string, context: Partial<RunContext> = {}, options: CodeOptions = {}): Promise<FaultMessage> {
    const outcome = await this.run(source, context, options);
    if (!outcome.fault) throw new Error(`no fault: ${JSON.stringify(outcome)}`);
    return outcome.fault;
  }

  /** Runs code, and returns the hint of its fault, or about its result. */
  async hint(source: string, context: Partial<RunContext> = {}): Promise<string | undefined> {
    const { id, outcome } = this.start(this.code(source), context);
    const { fault } = await outcome;
    return fault ? fault.hint : this.resultHints.get(id);
  }

  /** Sends any frame. */
  send(frame: Buffer): void {
    this.#outbox.push(frame);
  }

  abort(run: number, reason: AbortReason): void {
    this.#outbox.push(textFrame(TO_GUEST.abort, run, reason));
    this.#bodies.delete(run);
  }

  forget(code: number): void {
    this.#outbox.push(bytesFrame(TO_GUEST.forget, code));
  }

  window(run: number, bytes: number): void {
    const pending = this.#runs.get(run);
    if (pending) pending.credit += bytes;
    const payload = Buffer.alloc(4);
    payload.writeUInt32LE(bytes);
    this.#outbox.push(bytesFrame(TO_GUEST.window, run, payload));
  }

  /** Sends a ping and waits for the pong. By then, the guest has processed all earlier frames. */
  async ping(): Promise<number> {
    const id = this.#nextId++;
    this.#outbox.push(bytesFrame(TO_GUEST.ping, id));
    return (await this.frame(FROM_GUEST.pong)).id;
  }

  /** Waits for the next frame of a type. */
  frame(type: number): Promise<{ type: number; id: number }> {
    return new Promise((done) => {
      this.#waiting.push({ type, done });
    });
  }

  async close(): Promise<number | null> {
    this.#socket.destroy();
    return this.exited;
  }

  /** Lets `await using` end the guest even if an assertion fails. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.exited;
  }

  /** Sends what the window of the guest allows, as the service does. */
  #sendBody(id: number, body: { rest: Buffer; credit: number }): void {
    while (body.rest.length > 0 && body.credit > DATA_FRAME_COST_BYTES) {
      const bytes = Math.min(body.rest.length, DATA_BYTES, body.credit - DATA_FRAME_COST_BYTES);
      this.#outbox.push(bytesFrame(TO_GUEST.body, id, body.rest.subarray(0, bytes)));
      body.rest = body.rest.subarray(bytes);
      body.credit -= bytes + DATA_FRAME_COST_BYTES;
    }
    if (body.rest.length > 0) this.#bodies.set(id, body);
    else {
      this.#bodies.delete(id);
      this.#outbox.push(bytesFrame(TO_GUEST.bodyEnd, id));
    }
  }

  #onFrame(type: number, id: number, payload: Buffer): void {
    const unsent = type === FROM_GUEST.bodyMore ? this.#bodies.get(id) : undefined;
    if (unsent) {
      unsent.credit += payload.readUInt32LE();
      this.#sendBody(id, unsent);
    }
    const waiting = this.#waiting.findIndex((each) => each.type === type);
    if (type === FROM_GUEST.compiled) this.compiled.set(id, payload[0]!);
    if (type === FROM_GUEST.log)
      this.logs.push({ run: id, level: LOG_LEVELS[payload[0]!]!, text: payload.toString("utf8", 1) });
    if (type === FROM_GUEST.resultHint) {
      const decoded = decodeResultHint(payload);
      if (decoded) this.resultHints.set(id, resultHint(decoded.hint, decoded.path));
    }
    if (type === FROM_GUEST.unreturned) this.onUnreturned?.(payload.readUInt32LE());
    if (type >= FROM_GUEST.open) return this.onNetwork?.(type, id, payload);
    if (type === FROM_GUEST.lateError)
      this.lateErrors.push({ run: id, fault: JSON.parse(payload.toString()) as FaultMessage });
    const pending = this.#runs.get(id);
    if (pending && type >= FROM_GUEST.result && type <= FROM_GUEST.fault) this.#onAnswer(pending, type, id, payload);
    if (waiting !== -1) this.#waiting.splice(waiting, 1)[0]!.done({ type, id });
  }

  #onAnswer(pending: Pending, type: number, id: number, payload: Buffer): void {
    const { outcome, chunks } = pending;
    if (type === FROM_GUEST.head) {
      outcome.head = JSON.parse(payload.toString()) as HeadMessage;
      return;
    }
    if (type === FROM_GUEST.data) {
      chunks.push(Buffer.from(payload));
      outcome.bodyBytes += payload.length;
      outcome.frames += 1;
      pending.credit -= payload.length + DATA_FRAME_COST_BYTES;
      // The service ends a guest that violates these bounds.
      assert.ok(
        payload.length > 0 && payload.length <= DATA_BYTES && pending.credit >= 0,
        "a frame exceeds its bounds",
      );
      pending.onData?.(outcome.bodyBytes);
      if (pending.refill && pending.credit < WINDOW_BYTES / 2) this.window(id, WINDOW_BYTES - pending.credit);
      return;
    }
    if (type === FROM_GUEST.result) outcome.result = payload.toString();
    if (type === FROM_GUEST.fault) outcome.fault = JSON.parse(payload.toString()) as FaultMessage;
    outcome.ended = type === FROM_GUEST.end;
    outcome.bytes = Buffer.concat(chunks);
    outcome.body = outcome.bytes.toString();
    this.#runs.delete(id);
    pending.done(outcome);
  }
}
