import type { MessagePort } from "node:worker_threads";

import { bytesFrame } from "../../wire/frames.ts";
import { FROM_GUEST, TO_GUEST } from "../../wire/messages.ts";
import { uncurry } from "../../wire/uncurry.ts";
import { safeMap } from "../safe-map.ts";
import { onPort, type PortFrame, postFrame, unrefPort } from "./port.ts";

const prototype: Buffer = Buffer.prototype;
const writeUInt32LE = uncurry(prototype, "writeUInt32LE");
/** Where the run stands in a frame that names one: behind the frame's header. */
const RUN_AT = 9;
const RUN_BYTES = 4;

/** Carries frames between the service and the workers of this guest. Only the main thread has the descriptor. */
export interface Relay {
  /** @param run The one that made the worker, and is charged for what it does. */
  adopt(port: MessagePort, run: number): void;
  /** Says whether the frame was for a worker. */
  deliver(type: number, id: number, payload: Buffer): boolean;
}

export interface RelayOptions {
  readonly send: (frame: Buffer) => void;
  /** Who is charged, when it should be this run. */
  readonly payerFor: (run: number) => number;
}

export function makeRelay({ send, payerFor }: RelayOptions): Relay {
  const streams = safeMap<number, MessagePort>();
  const lookups = safeMap<number, MessagePort>();

  function onFrame(port: MessagePort, run: number, { frame, type, id }: PortFrame): void {
    if (type === FROM_GUEST.open || type === FROM_GUEST.lookup) {
      const owners = type === FROM_GUEST.open ? streams : lookups;
      if (owners.has(id) || frame.length < RUN_AT + RUN_BYTES) return;
      owners.set(id, port);
      writeUInt32LE(frame, payerFor(run), RUN_AT);
    } else {
      if (type < FROM_GUEST.open || type > FROM_GUEST.lookup || streams.get(id) !== port) return;
      if (type === FROM_GUEST.reset) streams.delete(id);
    }
    send(frame);
  }

  function drop(port: MessagePort): void {
    streams.forEach((owner, id) => {
      if (owner !== port) return;
      streams.delete(id);
      send(bytesFrame(FROM_GUEST.reset, id));
    });
    lookups.forEach((owner, id) => {
      if (owner === port) lookups.delete(id);
    });
  }

  function adopt(port: MessagePort, run: number): void {
    onPort(port, {
      frame: (frame) => onFrame(port, run, frame),
      // Of a worker that a worker made.
      port: (other) => adopt(other, run),
      closed: () => drop(port),
    });
    unrefPort(port);
  }

  return {
    adopt,
    deliver(type, id, payload) {
      const owners = type === TO_GUEST.answer ? lookups : streams;
      const port = owners.get(id);
      if (!port) return false;
      if (type === TO_GUEST.answer || type === TO_GUEST.peerReset) owners.delete(id);
      postFrame(port, bytesFrame(type, id, payload));
      return true;
    },
  };
}
