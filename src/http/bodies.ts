import type { IncomingMessage, ServerResponse } from "node:http";

import { Problem } from "../errors.ts";
import { ByteCollector, MIN_BYTES_A_CHUNK } from "./byte-collector.ts";
import { FairShare, type Hold } from "./fair-share.ts";
import { readInTurns, wantBody } from "./read-body.ts";

/** The owner whose share of memory a body uses. */
export interface MemoryOwner {
  readonly name: string;
  /** Whether the run needs no token. */
  readonly isPublic: boolean;
}

export interface BodyOptions {
  readonly limitBytes: number;
  /** Returns the error for a body that exceeds the limit. */
  readonly tooLarge: () => Problem;
  readonly owner: MemoryOwner;
}

/** A body in memory. It counts against its owner until `release` is called. */
export interface HeldBody {
  readonly bytes: Buffer;
  readonly release: () => void;
}

/** The most bytes of all bodies that are read or wait for their runs: stops connections that fill the memory. */
const MAX_BYTES = 256 * 2 ** 20;
/** The most bytes of all bodies without a token: stops clients that take the memory of callers with a token. */
const MAX_PUBLIC_BYTES = 32 * 2 ** 20;
/** The common owner of all bodies without a token in the memory that they share with other callers. */
const PUBLIC = "public";

/** The lowest average rate of a body. A slower body would occupy memory and a connection for too long. */
const MIN_BYTES_A_SECOND = 4_096;
/** The time before the rate counts, from the start of reading: a client may have to wait for its own disk or line. */
const GRACE_MS = 15_000;
/** The interval between two checks for slow bodies. */
const SWEEP_MS = 1_000;

/** Reads request bodies into memory. Limits the size and the time of each body, and the memory of all bodies. */
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

  /** The bytes of all bodies that are read or wait for their runs. */
  get bytes(): number {
    return this.#all.bytes;
  }

  /**
   * Takes a body that has arrived together with its head, as most do. It costs neither listeners nor a promise.
   *
   * @returns null for any other body, which `read` reads
   * @throws as `read`
   */
  take(request: IncomingMessage, { limitBytes, tooLarge, owner }: BodyOptions): HeldBody | null {
    // Chunks of a chunked body may be tiny. The parts of any other body are as large as the reads of its socket.
    if (!request.complete || request.headers["content-length"] === undefined) return null;
    const length = request.readableLength;
    if (length > limitBytes) throw tooLarge();
    let isCut = false;
    const holds = this.#hold(owner, () => (isCut = true));
    for (const hold of holds) hold.grow(length);
    const release = (): void => releaseAll(holds);
    if (!isCut && holds.every((hold) => hold.pin())) {
      return { bytes: (request.read() as Buffer | null) ?? EMPTY, release };
    }
    release();
    throw memoryFull();
  }

  /**
   * Reads a body.
   *
   * @throws the error of `tooLarge`; {Problem} `request_invalid` if the body is incomplete or too slow, `overloaded` if
   *   the memory is full and the owner of the body uses most of it
   */
  async read(request: IncomingMessage, response: ServerResponse, options: BodyOptions): Promise<HeldBody> {
    const { limitBytes, tooLarge } = options;
    if (Number(request.headers["content-length"] ?? 0) > limitBytes) throw tooLarge();
    // The client may have left while its token was verified. The request then reports nothing more.
    if (request.destroyed) throw brokenOff();
    wantBody(request, response);
    const { promise, resolve, reject } = Promise.withResolvers<HeldBody>();
    const collected = new ByteCollector();
    let isSettled = false;
    const settle = (): boolean => {
      if (isSettled) return false;
      isSettled = true;
      this.#readings.delete(reading);
      return true;
    };
    const release = (): void => releaseAll(holds);
    const refuse = (error: unknown): void => {
      if (!settle()) return;
      collected.clear();
      release();
      reject(error);
    };
    const holds = this.#hold(options.owner, () => refuse(memoryFull()));
    const reading: Reading = { sinceMs: performance.now(), bytes: 0, refuse };
    this.#readings.add(reading);
    request.on("data", (chunk: Buffer) => {
      // Bytes that arrive after a refusal are discarded.
      if (isSettled) return;
      const grown = collected.add(chunk);
      reading.bytes += chunk.length;
      if (reading.bytes > limitBytes) return refuse(tooLarge());
      if (collected.isFragmented) return refuse(fragmented());
      if (grown > 0) for (const hold of holds) hold.grow(grown);
    });
    readInTurns(request);
    request.on("end", () => {
      if (!settle()) return;
      if (holds.every((hold) => hold.pin())) return resolve({ bytes: collected.bytes, release });
      collected.clear();
      release();
      reject(memoryFull());
    });
    request.on("error", () => refuse(brokenOff()));
    return await promise;
  }

  /** Refuses all bodies that arrive too slowly. @param nowMs the current time of `performance.now()` */
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

const EMPTY = Buffer.alloc(0);

function releaseAll(holds: readonly Hold[]): void {
  for (const hold of holds) hold.release();
}

/** A body that has not arrived completely. */
interface Reading {
  readonly sinceMs: number;
  bytes: number;
  readonly refuse: (problem: Problem) => void;
}

function memoryFull(): Problem {
  return new Problem("overloaded", "the memory for request bodies is full, and this caller uses most of it", {
    retryAfterMs: 1_000,
    hint: "Send fewer large bodies at a time.",
  });
}

function brokenOff(): Problem {
  return new Problem("request_invalid", "the request body broke off before it was complete");
}

function fragmented(): Problem {
  return new Problem("request_invalid", "the request body arrives in chunks of a few bytes", {
    hint: `Send the body in chunks of at least ${MIN_BYTES_A_CHUNK} bytes.`,
  });
}

function tooSlow(bytes: number, ms: number): Problem {
  const seconds = Math.round(ms / 1_000);
  return new Problem("request_invalid", `only ${bytes} bytes of the request body arrived in ${seconds} s`, {
    status: 408,
    hint: `After the first ${GRACE_MS / 1_000} s, a client must send at least ${MIN_BYTES_A_SECOND} bytes a second.`,
  });
}
