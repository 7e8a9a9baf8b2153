import type { IncomingMessage, ServerResponse } from "node:http";

import { Problem } from "../errors.ts";
import { ByteCollector } from "./byte-collector.ts";
import { FairShare, type Hold } from "./fair-share.ts";
import { readInTurns, wantBody } from "./read-body.ts";

/** Whose memory a body takes. */
export interface MemoryOwner {
  readonly name: string;
  /** It is of a run that needs no token. */
  readonly isPublic: boolean;
}

export interface BodyOptions {
  readonly limitBytes: number;
  /** Makes the error for a body beyond the limit. */
  readonly tooLarge: () => Problem;
  readonly owner: MemoryOwner;
}

/** A body that was read, and its share of the memory until it is released. */
export interface HeldBody {
  readonly bytes: Buffer;
  readonly release: () => void;
}

/** For all bodies that are read or wait for their runs: stops connections that together fill the memory. */
const MAX_BYTES = 256 * 2 ** 20;
/** For all bodies without a token: stops strangers from taking the memory of callers with a token. */
const MAX_PUBLIC_BYTES = 32 * 2 ** 20;
/** The one owner that all runs without a token are, beside the callers that have one. */
const PUBLIC = "public";

/** A body that drips in more slowly than this holds memory and a connection for nothing. */
const MIN_BYTES_A_SECOND = 4_096;
/** From the first look for the body: a client may have to wait for its own disk or line. */
const GRACE_MS = 15_000;
const SWEEP_MS = 1_000;

/** Reads the bodies of requests into memory, each up to a limit, all within a share of it, and none too slowly. */
export class Bodies {
  readonly #all: FairShare;
  readonly #public: FairShare;
  readonly #readings = new Set<Reading>();
  readonly #sweeper: NodeJS.Timeout;

  constructor(maxBytes: number = MAX_BYTES, maxPublicBytes: number = MAX_PUBLIC_BYTES) {
    this.#all = new FairShare(maxBytes);
    this.#public = new FairShare(maxPublicBytes);
    this.#sweeper = setInterval(() => this.refuseSlow(performance.now()), SWEEP_MS).unref();
  }

  /**
   * @throws what `tooLarge` makes; {Problem} `request_invalid` when the body breaks off or comes too slowly, `overloaded`
   * when its owner has the most of a memory that is full.
   */
  async read(request: IncomingMessage, response: ServerResponse, options: BodyOptions): Promise<HeldBody> {
    const { limitBytes, tooLarge } = options;
    if (Number(request.headers["content-length"] ?? 0) > limitBytes) throw tooLarge();
    wantBody(request, response);
    const { promise, resolve, reject } = Promise.withResolvers<HeldBody>();
    const collected = new ByteCollector();
    let over = false;
    const settle = (): boolean => {
      if (over) return false;
      over = true;
      this.#readings.delete(reading);
      return true;
    };
    const release = (): void => {
      for (const hold of holds) hold.release();
    };
    const refuse = (error: unknown): void => {
      if (!settle()) return;
      collected.clear();
      release();
      reject(error);
    };
    const holds = this.#hold(options.owner, () => refuse(full()));
    const reading: Reading = { sinceMs: performance.now(), bytes: 0, refuse };
    this.#readings.add(reading);
    request.on("data", (chunk: Buffer) => {
      // What comes after a refusal is not kept.
      if (over) return;
      const grown = collected.add(chunk);
      reading.bytes += chunk.length;
      if (reading.bytes > limitBytes) return refuse(tooLarge());
      if (collected.isDribble) return refuse(dribble());
      if (grown > 0) for (const hold of holds) hold.grow(grown);
    });
    readInTurns(request);
    request.on("end", () => {
      if (!settle()) return;
      if (holds.every((hold) => hold.pin())) return resolve({ bytes: collected.bytes, release });
      collected.clear();
      release();
      reject(full());
    });
    request.on("error", () => refuse(new Problem("request_invalid", "the request's body broke off")));
    return await promise;
  }

  /** Refuses the bodies that come too slowly. @param nowMs on the clock of `performance.now()`. */
  refuseSlow(nowMs: number): void {
    for (const { sinceMs, bytes, refuse } of this.#readings) {
      const lateMs = nowMs - sinceMs - GRACE_MS;
      if (lateMs > 0 && bytes < (lateMs / 1_000) * MIN_BYTES_A_SECOND) refuse(tooSlow(bytes, nowMs - sinceMs));
    }
  }

  close(): void {
    clearInterval(this.#sweeper);
  }

  #hold({ name, isPublic }: MemoryOwner, cut: () => void): Hold[] {
    return isPublic ? [this.#all.hold(PUBLIC, cut), this.#public.hold(name, cut)] : [this.#all.hold(name, cut)];
  }
}

/** A body that has not come whole. */
interface Reading {
  readonly sinceMs: number;
  bytes: number;
  readonly refuse: (problem: Problem) => void;
}

function full(): Problem {
  return new Problem(
    "overloaded",
    "the service reads as many bodies as it has room for, most of them from this caller",
    {
      retryAfterMs: 1_000,
      hint: "Send fewer large bodies at a time.",
    },
  );
}

function dribble(): Problem {
  return new Problem("request_invalid", "the request's body comes in chunks of a few bytes", {
    hint: "Send it in larger chunks, of 64 bytes or more.",
  });
}

function tooSlow(bytes: number, ms: number): Problem {
  const seconds = Math.round(ms / 1_000);
  return new Problem("request_invalid", `of the request's body ${bytes} bytes came in ${seconds} s`, {
    status: 408,
    hint: `After ${GRACE_MS / 1_000} s, at least ${MIN_BYTES_A_SECOND} bytes a second are expected.`,
  });
}
