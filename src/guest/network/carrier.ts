import type { MessagePort } from "node:worker_threads";

/** How the network of this thread reaches the service: over the link, or in a worker through the main thread. */
export interface Carrier {
  send(frame: Buffer): void;
  /** The run that is charged for what is opened now, 0 when there is none. */
  payer(): number;
  /** The last id given to a stream and to a lookup, for all threads of the guest: no id is ever given twice. */
  readonly ids: Int32Array;
  /** Something is under way that keeps the thread alive. */
  hold(): void;
  release(): void;
  /** Carries for another thread, which holds the other end of the port. */
  adopt(port: MessagePort): void;
}

const STREAMS = 0;
const LOOKUPS = 1;

const add = Atomics.add.bind(Atomics);

let chosen: Carrier;

/** Chosen once, before any submitted code runs. */
export function setCarrier(one: Carrier): void {
  chosen = one;
}

export function carrier(): Carrier {
  return chosen;
}

export function makeIds(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
}

export function nextStreamId(): number {
  return (add(chosen.ids, STREAMS, 1) + 1) >>> 0;
}

export function nextLookupId(): number {
  return (add(chosen.ids, LOOKUPS, 1) + 1) >>> 0;
}
