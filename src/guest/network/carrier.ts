import type { MessagePort } from "node:worker_threads";

/** Carries the network frames of this thread to the service: over the link, or from a worker through the main thread. */
export interface Carrier {
  send(frame: Buffer): void;
  /** Returns the id of the run that is charged for a new connection or lookup; 0 if there is none. */
  payer(): number;
  /** The last ids of a stream and of a lookup, shared by all threads of the guest: an id is never used twice. */
  readonly ids: Int32Array;
  /** Keeps the thread alive until `release`. */
  hold(): void;
  release(): void;
  /** Also carries the frames of another thread, which holds the other end of the port. */
  adopt(port: MessagePort): void;
}

const STREAMS = 0;
const LOOKUPS = 1;

const add = Atomics.add.bind(Atomics);

let current: Carrier;

/** Sets the carrier of this thread. Call it once, before any submitted code runs. */
export function setCarrier(newCarrier: Carrier): void {
  current = newCarrier;
}

export function carrier(): Carrier {
  return current;
}

export function makeIds(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
}

export function nextStreamId(): number {
  return (add(current.ids, STREAMS, 1) + 1) >>> 0;
}

export function nextLookupId(): number {
  return (add(current.ids, LOOKUPS, 1) + 1) >>> 0;
}
