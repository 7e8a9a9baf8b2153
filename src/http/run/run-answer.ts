import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream";

import type { Start } from "../../containers/pool.ts";
import type { Decision, KeyUsage } from "../../limits/store.ts";
import type { HeadMessage } from "../../wire/messages.ts";
import { CORS_HEADERS, VERSION_HEADERS } from "../headers.ts";
import { problemAnswer } from "../problem.ts";
import { rateLimitHeaders } from "../ratelimit-headers.ts";
import { endAnswer } from "../read-body.ts";
import { holdBytes, holdUnread } from "../unread.ts";
import { isActing } from "./acting-headers.ts";
import { announcedLength, exactly } from "./body-length.ts";
import type { AnswerBody, Outcome } from "./execution.ts";

/** Response headers of a task that pass. What is not named here does not: a list of bad ones is never complete. */
const PASSES =
  /^(?:content-(?!security-policy)[a-z-]+|cache-control|etag|last-modified|expires|vary|location|link|retry-after|x-[a-z0-9-]+)$/;
/** Of the names that begin with `x-`, these are a policy of the origin, which is the service's. */
const OF_ORIGIN =
  /^x-(?:content-security-policy|webkit-csp|permitted-cross-domain-policies|xss-protection|frame-options|ua-compatible|dns-prefetch-control|download-options)/;
/** The service frames the body itself, and says these once. */
const OWN = new Set(["content-length", "x-content-type-options"]);
const BODILESS = new Set([204, 304]);
const JSON_TYPE = ["Content-Type", "application/json"];
/** A task's page acts in no origin, least of all in that of the service and its console. */
const SANDBOX = "sandbox allow-scripts allow-forms";
/** A page that was opened with a token in its URL could read it there, also where the task needs none. */
const SANDBOX_OF_KEY = "sandbox allow-forms";

const ignore = (): void => {};

/**
 * To HTTP/1.0, which nginx speaks unless it is told otherwise, a body without a length ends with its connection: a close
 * would make one that broke look whole. TLS tells the two apart by itself.
 */
function reset(response: ServerResponse): void {
  const { socket } = response;
  if (socket && !("encrypted" in socket)) socket.resetAndDestroy();
  else response.destroy();
}

/** The answer to a run that a token was good for: whatever becomes of it, it carries the run's headers. */
export class RunAnswer {
  readonly run: string;
  /** What is left of the keys that the run counts against. */
  usage: readonly KeyUsage[] = [];
  readonly #response: ServerResponse;
  /** Whose memory an answer takes that is not read. */
  readonly #reader: string;
  readonly #byKey: boolean;
  // When each step was over, on the clock of `performance.now()`; 0 until then.
  readonly #arrivedMs: number;
  #admittedMs = 0;
  #isCounted = false;
  #sentMs = 0;
  #start: Start = "warm";

  constructor(response: ServerResponse, run: string, reader: string, byKey: boolean, arrivedMs: number) {
    this.#response = response;
    this.#reader = reader;
    this.run = run;
    this.#byKey = byKey;
    this.#arrivedMs = arrivedMs;
  }

  get hasUsage(): boolean {
    return this.usage.length > 0;
  }

  /** Whether the run counted against its limits. */
  get isCounted(): boolean {
    return this.#isCounted;
  }

  /** Records what the limiter decided, and when. */
  decided({ admitted, usage }: Decision): void {
    this.usage = usage;
    this.#isCounted = admitted;
    this.#admittedMs = performance.now();
  }

  /** The run goes to its guest, now. @returns that moment. */
  sent(start: Start): number {
    this.#start = start;
    this.#sentMs = performance.now();
    return this.#sentMs;
  }

  /** @param streamMs by which a body that streams has been read, or is cut. */
  send(outcome: Outcome, streamMs: number): void {
    if ("json" in outcome) this.#sendJson(outcome.json);
    else this.#sendStream(outcome.head, outcome.body, streamMs);
  }

  sendProblem(error: unknown): void {
    const { status, headers, body } = problemAnswer(error, this.run);
    const bytes = Buffer.byteLength(body);
    const length = ["Content-Length", String(bytes)];
    this.#response.writeHead(status, [...headers, ...this.#headers(), ...length, "Cache-Control", "no-store"]);
    // The error of a task can be long.
    holdUnread(this.#response, this.#reader, bytes);
    endAnswer(this.#response, body);
  }

  #sendJson(json: Buffer): void {
    const headers = this.#headers();
    headers.push("Cache-Control", "no-store", "Content-Length", String(json.length), ...JSON_TYPE);
    this.#response.writeHead(200, headers);
    // A big answer is held in memory until it is read.
    holdUnread(this.#response, this.#reader, json.length);
    // As Latin-1, which is the same bytes: Node then writes head and body in one piece.
    this.#response.end(json.toString("latin1"), "latin1");
  }

  /** Of what its guest has made, and nobody has read yet, no watchdog knows any more. */
  #holdRest(body: AnswerBody, untilMs: number): void {
    const response = this.#response;
    if (response.destroyed) return;
    const cut = (): void => void (response.chunkedEncoding ? response.destroy() : reset(response));
    const timer = setTimeout(cut, Math.max(0, untilMs - performance.now())).unref();
    const release = holdBytes(this.#reader, body.readableLength + response.writableLength, cut);
    response.once("close", () => {
      clearTimeout(timer);
      release();
    });
  }

  #sendStream(head: HeadMessage, body: AnswerBody, streamMs: number): void {
    const headers = this.#headers();
    const response = this.#response;
    let cacheControl = false;
    for (let index = 0; index < head.headers.length; index += 2) {
      const name = head.headers[index]!.toLowerCase();
      if (!PASSES.test(name) || isActing(name) || OF_ORIGIN.test(name) || OWN.has(name)) continue;
      cacheControl ||= name === "cache-control";
      headers.push(name, head.headers[index + 1]!);
    }
    if (!cacheControl) headers.push("Cache-Control", "no-store");
    if (head.status > 299) headers.push("Caisson-Fault", "task");
    if (BODILESS.has(head.status)) return this.#sendBodiless(head.status, headers, body);
    // What was made at once is here already: then its length is known, and the one that the task says does not count.
    const whole = body.takeWhole();
    const length = whole?.length ?? announcedLength(head.headers);
    if (length !== null) headers.push("Content-Length", String(length));
    // nginx would gather what is sent by and by, unless it is told here.
    if (!whole) headers.push("X-Accel-Buffering", "no");
    response.writeHead(head.status, headers);
    if (whole) {
      holdUnread(response, this.#reader, whole.length);
      return void response.end(whole);
    }
    response.flushHeaders();
    const untilMs = performance.now() + streamMs;
    body.onMade = () => this.#holdRest(body, untilMs);
    // A body that breaks destroys the response: the client sees it cut, never ended.
    if (length !== null) return void pipeline(body, exactly(length), response, ignore);
    // It may have broken before it came here.
    if (!response.chunkedEncoding && body.destroyed) return reset(response);
    if (!response.chunkedEncoding) body.once("error", () => reset(response));
    pipeline(body, response, ignore);
  }

  /** RFC 9110, sections 15.3.5 and 15.4.5: there is a head alone. What the task writes all the same is read and dropped. */
  #sendBodiless(status: number, headers: string[], body: AnswerBody): void {
    this.#response.writeHead(status, headers);
    this.#response.end();
    body.resume();
  }

  #headers(): string[] {
    return [
      "Caisson-Run",
      this.run,
      "Server-Timing",
      this.#serverTiming(),
      "X-Content-Type-Options",
      "nosniff",
      "Referrer-Policy",
      "no-referrer",
      "Content-Security-Policy",
      this.#byKey ? SANDBOX_OF_KEY : SANDBOX,
      ...rateLimitHeaders(this.usage),
      ...VERSION_HEADERS,
      ...CORS_HEADERS,
    ];
  }

  /** Server Timing (W3C): milliseconds up to the head. */
  #serverTiming(): string {
    const nowMs = performance.now();
    const queue = `queue;dur=${((this.#admittedMs || nowMs) - this.#arrivedMs).toFixed(2)}`;
    if (this.#admittedMs === 0) return queue;
    const start = `${queue}, start;dur=${((this.#sentMs || nowMs) - this.#admittedMs).toFixed(2)}`;
    if (this.#sentMs === 0) return start;
    return `${start};desc="${this.#start}", run;dur=${(nowMs - this.#sentMs).toFixed(2)}`;
  }
}
