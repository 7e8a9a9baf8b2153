import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream";

import type { Start } from "../../containers/pool.ts";
import type { Decision, KeyUsage } from "../../limits/store.ts";
import { Slices } from "../../next-turn.ts";
import { CORS_HEADERS, optionsHeaders, SAFETY_HEADERS, VERSION_HEADERS } from "../headers.ts";
import { problemAnswer } from "../problem.ts";
import { rateLimitHeaders } from "../ratelimit-headers.ts";
import { endAnswer } from "../read-body.ts";
import { growingHold, holdBytes, holdUnread, mustBeRead } from "../unread.ts";
import { writeHeadWith } from "../write-head.ts";
import { JSON_LINES, JSON_TYPE, linesOf, sandboxHeaders } from "./answer-lines.ts";
import { announcedLength, requireLength } from "./body-length.ts";
import { CLIENT_LEFT } from "./client-left.ts";
import type { AnswerBody, Buffered, Outcome, Streamed } from "./execution.ts";
import { allowedHeaders } from "./response-headers.ts";
import { type AnswerPart, piecesOf, textOf } from "./result-json.ts";

const BODILESS = new Set([204, 304]);
/** The bytes of an answer that are written at once. Escapes of a record can make six times as many of them. */
const BYTES_AT_ONCE = 65_536;

const NO_CORS: readonly string[] = [];
const ignore = (): void => {};

/**
 * Resets a connection. In HTTP/1.0, which nginx uses by default, the end of the connection is the end of a body without
 * a length. A normal close would make a cut body look complete. TLS distinguishes both cases itself.
 */
function reset(response: ServerResponse): void {
  const { socket } = response;
  if (socket && !("encrypted" in socket)) socket.resetAndDestroy();
  else response.destroy();
}

/** The answer to an authorized run. All outcomes carry the headers of the run. */
export class RunAnswer {
  /** The id of the run. */
  readonly run: string;
  /** The use of the limits against which the run counts. */
  usage: readonly KeyUsage[] = [];
  /** The hint for the query, which is sent if the result has no hint. */
  queryHint: string | null = null;
  readonly #response: ServerResponse;
  /** The owner whose share of memory the answer uses until the client has read it. */
  readonly #owner: string;
  #grow: ((bytes: number) => boolean) | null = null;
  /** Whether the query of the request contains `key`. */
  readonly #hasKey: boolean;
  // The end of each step, on the clock of `performance.now()`; 0 before it.
  readonly arrivedMs: number;
  #admittedMs = 0;
  #isCounted = false;
  #sentMs = 0;
  #start: Start = "warm";

  constructor(response: ServerResponse, run: string, owner: string, hasKey: boolean, arrivedMs: number) {
    this.#response = response;
    this.#owner = owner;
    this.run = run;
    this.#hasKey = hasKey;
    this.arrivedMs = arrivedMs;
  }

  get hasUsage(): boolean {
    return this.usage.length > 0;
  }

  /** Whether the run counted against its limits. */
  get isCounted(): boolean {
    return this.#isCounted;
  }

  /** Records the limiter's decision and its time. */
  decided({ admitted, usage }: Decision): void {
    this.usage = usage;
    this.#isCounted = admitted;
    this.#admittedMs = performance.now();
  }

  /** Records that the service sends the run to its guest now. @returns the current time */
  sent(start: Start): number {
    this.#start = start;
    this.#sentMs = performance.now();
    return this.#sentMs;
  }

  /**
   * @param streamMs the longest time in which the client must have read a streamed body; after it the body is cut
   * @param isPublic whether the run is of a public task, whose fetch handler decides about CORS
   */
  send(outcome: Outcome, streamMs: number, isPublic: boolean = false): void {
    if ("json" in outcome) this.#sendJson(outcome);
    else this.#sendStream(outcome, streamMs, isPublic && outcome.isOfHandler);
  }

  /** Answers OPTIONS for a task without a fetch handler. @param methods the methods of its path */
  sendPreflight(methods: string): void {
    this.#response.writeHead(204, [...this.#headers(), ...optionsHeaders(methods)]).end();
  }

  sendProblem(error: unknown): void {
    const { status, headers, body } = problemAnswer(error, this.run);
    const bytes = Buffer.byteLength(body);
    headers.push("Content-Length", String(bytes));
    writeHeadWith(this.#response, status, this.#lines(), headers);
    // The error of a task may be large.
    holdUnread(this.#response, this.#owner, bytes);
    endAnswer(this.#response, body);
  }

  /** Whether the answer is cut, or its client has left. */
  get isGone(): boolean {
    // The answer that waits for earlier ones ends with its connection.
    return this.#response.destroyed || this.#response.req.socket.destroyed;
  }

  /** Call it before a guest receives the run. @throws {Problem} `run_cancelled` */
  mustHaveClient(): void {
    if (this.isGone) throw CLIENT_LEFT;
  }

  /** Counts memory that the answer uses until its end: see `growingHold`. @returns whether it is counted */
  grow(bytes: number): boolean {
    this.#grow ??= growingHold(this.#response, () => this.#owner);
    return this.#grow(bytes);
  }

  /** @param parts the record of the run. @param length its bytes */
  async sendRecord(parts: readonly AnswerPart[], length: number, holder: string): Promise<void> {
    const headers = this.#headers();
    headers.push("Cache-Control", "no-store", "Content-Length", String(length), ...JSON_TYPE);
    this.#response.writeHead(200, headers);
    await this.#endWith(parts, holder);
  }

  /**
   * Sends the head of a stream of events (HTML Living Standard, section 9.2). The memory of unread events is counted.
   */
  openEvents(): void {
    // Without the last header, nginx would buffer the stream.
    const type = ["Content-Type", "text/event-stream", "X-Accel-Buffering", "no"];
    this.#response.writeHead(200, [...this.#headers(), "Cache-Control", "no-store", ...type]);
    this.#response.flushHeaders();
  }

  /** @param data JSON without line breaks */
  event(name: string, data: string): void {
    if (this.#response.destroyed) return;
    this.grow(data.length);
    this.#response.write(`event: ${name}\ndata: ${data}\n\n`);
  }

  /**
   * Sends the last events.
   *
   * @param events name and JSON of each. The JSON has no line breaks, because they would end the event.
   */
  async endEvents(
    events: readonly (readonly [name: string, data: readonly AnswerPart[]])[],
    holder: string,
  ): Promise<void> {
    const parts = events.flatMap(([name, data]) => [`event: ${name}\ndata: `, ...data, "\n\n"]);
    await this.#endWith(parts, holder);
  }

  /** Ends the answer with parts. The results in them were counted when they were read. */
  async #endWith(parts: readonly AnswerPart[], holder: string): Promise<void> {
    const response = this.#response;
    const texts = parts.reduce((sum, part) => sum + (typeof part === "string" ? part.length : 0), 0);
    const results = parts.reduce((sum, part) => sum + (typeof part === "string" ? 0 : part.bytes.length), 0);
    if (this.grow(texts)) mustBeRead(response);
    if (texts + results <= BYTES_AT_ONCE) {
      // In one piece, because each piece costs a system call.
      return endAnswer(response, textOf(parts));
    }
    mustBeRead(response);
    const slices = new Slices(holder);
    for (const piece of piecesOf(parts)) {
      if (slices.hasEnded) await slices.next();
      if (this.isGone) return;
      if (!response.write(piece)) await drained(response);
    }
    if (!this.isGone) endAnswer(response, "");
  }

  #sendJson({ json, hint: ofResult }: Buffered): void {
    const headers = ["Content-Length", String(json.length)];
    const hint = ofResult ?? this.queryHint;
    if (hint !== null) headers.push("Caisson-Hint", hint);
    writeHeadWith(this.#response, 200, this.#lines() + JSON_LINES, headers);
    // A big answer is in memory until the client has read it.
    holdUnread(this.#response, this.#owner, json.length);
    // A Latin-1 string has the same bytes. Node writes head and body in one piece if the body is a string. Of a large string it
    // would keep two copies for a client that reads slowly.
    if (json.length > BYTES_AT_ONCE) this.#response.end(json);
    else this.#response.end(json.toString("latin1"), "latin1");
  }

  /** Limits the unread rest of a complete body. The run has ended, so the watchdog does not limit it any more. */
  #holdRest(body: AnswerBody, untilMs: number): void {
    const response = this.#response;
    if (response.destroyed) return;
    const cut = (): void => void (response.chunkedEncoding ? response.destroy() : reset(response));
    const timer = setTimeout(cut, Math.max(0, untilMs - performance.now())).unref();
    const release = holdBytes(this.#owner, body.readableLength + response.writableLength, cut);
    response.once("close", () => {
      clearTimeout(timer);
      release();
    });
  }

  #sendStream({ head, body, hint }: Streamed, streamMs: number, isOfHandler: boolean): void {
    const headers = this.#headers(isOfHandler ? NO_CORS : CORS_HEADERS);
    const response = this.#response;
    const allowed = allowedHeaders(head.headers, isOfHandler);
    headers.push(...allowed);
    const cacheControl = allowed.some((name, index) => index % 2 === 0 && name === "cache-control");
    if (!cacheControl) headers.push("Cache-Control", "no-store");
    if (head.status > 299) headers.push("Caisson-Fault", "task");
    if (hint !== null) headers.push("Caisson-Hint", hint);
    if (BODILESS.has(head.status)) return this.#sendBodiless(head.status, headers, body);
    // If the whole body has arrived already, its length is known, and the `Content-Length` of the task is ignored.
    const whole = body.takeWhole();
    const length = whole?.length ?? announcedLength(head.headers);
    if (length !== null) headers.push("Content-Length", String(length));
    // Without this header, nginx would buffer the stream.
    if (!whole) headers.push("X-Accel-Buffering", "no");
    if (response.req.method === "HEAD") return this.#sendBodiless(head.status, headers, body);
    response.writeHead(head.status, headers);
    if (whole) {
      holdUnread(response, this.#owner, whole.length);
      return void response.end(whole);
    }
    response.flushHeaders();
    const untilMs = performance.now() + streamMs;
    body.onComplete = () => this.#holdRest(body, untilMs);
    // A body that fails destroys the response, so the client sees a cut body and never a complete one.
    if (length !== null) return void pipeline(body, requireLength(length), response, ignore);
    // The body may have failed already.
    if (!response.chunkedEncoding && body.destroyed) return reset(response);
    if (!response.chunkedEncoding) body.once("error", () => reset(response));
    pipeline(body, response, ignore);
  }

  /**
   * Sends only a head (RFC 9110, sections 15.3.5 and 15.4.5). A body that the task writes nevertheless is discarded.
   */
  #sendBodiless(status: number, headers: string[], body: AnswerBody): void {
    this.#response.writeHead(status, headers);
    this.#response.end();
    body.discard();
  }

  /** The headers of the run, for an answer that the HTTP API sends: name, value, name, value. */
  get headersOfRun(): string[] {
    const timing = ["Server-Timing", this.#serverTiming()];
    return ["Caisson-Run", this.run, ...timing, ...rateLimitHeaders(this.usage)];
  }

  /** @param cors the CORS headers of the service, or none if the task has its own */
  #headers(cors: readonly string[] = CORS_HEADERS): string[] {
    return [
      "Caisson-Run",
      this.run,
      "Server-Timing",
      this.#serverTiming(),
      ...SAFETY_HEADERS,
      ...sandboxHeaders(this.#hasKey),
      ...rateLimitHeaders(this.usage),
      ...VERSION_HEADERS,
      ...cors,
    ];
  }

  #lines(): string {
    return linesOf(this.run, { timing: this.#serverTiming(), usage: this.usage, hasKey: this.#hasKey });
  }

  /** Returns the `Server-Timing` value (W3C), in milliseconds up to the head of the answer. */
  #serverTiming(): string {
    const nowMs = performance.now();
    const queue = `queue;dur=${((this.#admittedMs || nowMs) - this.arrivedMs).toFixed(2)}`;
    if (this.#admittedMs === 0) return queue;
    const start = `${queue}, start;dur=${((this.#sentMs || nowMs) - this.#admittedMs).toFixed(2)}`;
    if (this.#sentMs === 0) return start;
    return `${start};desc="${this.#start}", run;dur=${(nowMs - this.#sentMs).toFixed(2)}`;
  }
}

/** Waits until the client has read what was written, or until the answer is cut. */
async function drained(response: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  response.once("drain", resolve).once("close", resolve);
  await promise;
  response.off("drain", resolve).off("close", resolve);
}
