import type { ServerResponse } from "node:http";

import { Problem } from "../../errors.ts";
import { eventBytes } from "../../records/event-log.ts";
import type { TailReader } from "../../records/followed.ts";
import type { Caller } from "../../tokens/caller.ts";
import type { TokenStore } from "../../tokens/store.ts";
import type { Verifier } from "../../tokens/verify.ts";
import { seesTasks } from "./may-read.ts";

/** The interval between two checks whether the tokens of the streams have expired. */
const CHECK_MS = 1_000;
/** The interval between two comments that keep proxies from closing the connection. */
const HEARTBEAT_MS = 15_000;

/** The open streams. It closes a stream when its token expires or is revoked, or a key of its token is removed. */
export class EventStreams {
  readonly #streams = new Set<EventStream>();
  readonly #verifier: Pick<Verifier, "stateOf" | "problem">;
  readonly #heartbeatMs: number;
  #timer: NodeJS.Timeout | null = null;

  constructor(
    store: Pick<TokenStore, "onRevoked">,
    verifier: Pick<Verifier, "onKeysRemoved" | "stateOf" | "problem">,
    heartbeatMs: number = HEARTBEAT_MS,
  ) {
    this.#verifier = verifier;
    this.#heartbeatMs = heartbeatMs;
    store.onRevoked(() => this.#check());
    verifier.onKeysRemoved(() => this.#check());
  }

  /** @param onClose called when the stream has ended, for any reason */
  add(stream: EventStream, onClose: () => void): void {
    this.#streams.add(stream);
    this.#timer ??= this.#start();
    stream.onClose(() => {
      onClose();
      this.#streams.delete(stream);
      if (this.#streams.size > 0) return;
      clearInterval(this.#timer!);
      this.#timer = null;
    });
  }

  #start(): NodeJS.Timeout {
    let beatMs = performance.now();
    const stepMs = Math.min(CHECK_MS, this.#heartbeatMs);
    return setInterval(() => {
      this.#check();
      if (performance.now() - beatMs < this.#heartbeatMs - stepMs / 2) return;
      beatMs = performance.now();
      for (const stream of this.#streams) stream.beat();
    }, stepMs).unref();
  }

  #check(): void {
    for (const stream of this.#streams) {
      const problem = this.#problemOf(stream.caller);
      if (problem) stream.end(problem);
    }
  }

  #problemOf(caller: Caller): Problem | null {
    try {
      const state = this.#verifier.stateOf(caller);
      return state === "valid" ? null : this.#verifier.problem(state, caller);
    } catch (error) {
      // The revocations are unknown, because the store is not available.
      return error instanceof Problem ? error : new Problem("store_unavailable", "the token cannot be checked now");
    }
  }
}

/**
 * The most bytes that a client has not read, as a multiple of the events that are kept, and at the least: the events of a
 * turn and the longest record fit. A slower client is disconnected; it may continue with `Last-Event-ID`.
 */
const UNREAD_HISTORIES = 4;
const LEAST_UNREAD_BYTES = 256 * 2 ** 10;
const HEARTBEAT: Buffer = Buffer.from(":\n\n");
/** The time after which a client connects again. Some clients would not wait at all. */
const RETRY = "retry: 2000\n\n";
/** The longest time in which a client may read nothing of the rest of an ended stream. */
const END_MS = 30_000;

/** The events of one client. */
export class EventStream implements TailReader {
  readonly caller: Caller;
  readonly family: string;
  readonly seesTasks: boolean;
  readonly #begin: () => ServerResponse;
  readonly #mostUnread: number;
  #response: ServerResponse | null = null;

  /**
   * @param begin sends the head of the answer; called with the first event
   * @param historyBytes the bytes of the events that are kept for clients that connect again
   */
  constructor(caller: Caller, begin: () => ServerResponse, historyBytes: number) {
    this.#mostUnread = Math.max(LEAST_UNREAD_BYTES, UNREAD_HISTORIES * historyBytes);
    this.caller = caller;
    this.family = caller.family;
    this.seesTasks = seesTasks(caller);
    this.#begin = begin;
  }

  receive(bytes: Buffer): void {
    const response = (this.#response ??= this.#open());
    if (response.destroyed || response.writableEnded) return;
    if (response.writableLength + bytes.length > this.#mostUnread) response.req.socket.destroy();
    else response.write(bytes);
  }

  beat(): void {
    this.receive(HEARTBEAT);
  }

  /** Sends the reason, and ends the stream. A client that connects again receives the problem as an answer. */
  end({ code, message }: Problem): void {
    if (this.#response?.writableEnded) return;
    this.receive(eventBytes("end", { code, detail: message }));
    const response = this.#response!;
    response.setTimeout(END_MS, () => response.req.socket.destroy());
    response.end();
  }

  stop(): void {
    this.end(new Problem("draining", "the service is stopping"));
  }

  onClose(listener: () => void): void {
    const response = (this.#response ??= this.#open());
    if (response.destroyed) listener();
    else response.once("close", listener);
  }

  #open(): ServerResponse {
    const response = this.#begin();
    response.write(RETRY);
    return response;
  }
}
