import type { MessagePort } from "node:worker_threads";

import { makeIds } from "./carrier.ts";
import { installNetwork, onThreadFrame } from "./install.ts";
import type { NoteUnheard } from "./refusals.ts";
import { makeRelay, type Relay } from "./relay.ts";

export interface MainThread {
  /** Queues a frame for the service. */
  readonly send: (frame: Buffer) => void;
  /** The run that is charged for what is opened now. @param run The one that should be, where it is known */
  readonly payer: (run?: number) => number;
  readonly note: NoteUnheard;
}

let relay: Relay;

/** Puts the service between the guest and the network. To be called once, before any submitted code runs. */
export function openNetwork({ send, payer, note }: MainThread): void {
  relay = makeRelay({ send, payerFor: payer });
  const carrier = {
    send,
    payer: () => payer(),
    ids: makeIds(),
    // The link keeps the main thread alive in any case.
    hold: () => {},
    release: () => {},
    adopt: (port: MessagePort) => relay.adopt(port, payer()),
  };
  installNetwork(carrier, note);
}

/** Takes a frame about a stream or a lookup. */
export function onNetworkFrame(type: number, id: number, payload: Buffer): void {
  if (!relay.deliver(type, id, payload)) onThreadFrame(type, id, payload);
}
