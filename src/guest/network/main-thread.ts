import type { MessagePort } from "node:worker_threads";

import { makeIds } from "./carrier.ts";
import { installNetwork, onThreadFrame } from "./install.ts";
import type { SetPendingError } from "./refuse-servers.ts";
import { makeRelay, type Relay } from "./relay.ts";

export interface MainThread {
  /** Queues a frame for the service. */
  readonly send: (frame: Buffer) => void;
  /** Returns the id of the run that is charged for a new connection. */
  readonly payer: () => number;
  readonly setPendingError: SetPendingError;
}

let relay: Relay;

/** Routes the network of the guest through the service. Call it once, before any submitted code runs. */
export function openNetwork({ send, payer, setPendingError }: MainThread): void {
  relay = makeRelay(send);
  const carrier = {
    send,
    payer: () => payer(),
    ids: makeIds(),
    // The link always keeps the main thread alive.
    hold: () => {},
    release: () => {},
    adopt: (port: MessagePort) => relay.adopt(port, payer()),
  };
  installNetwork(carrier, setPendingError);
}

/** Whether a worker may call code of the main thread. */
export function hasWorkers(): boolean {
  return relay.workers > 0;
}

/** Receives a frame about a stream or a lookup. */
export function onNetworkFrame(type: number, id: number, payload: Buffer): void {
  if (!relay.deliver(type, id, payload)) onThreadFrame(type, id, payload);
}
