import type { MessagePort } from "node:worker_threads";

import { bytesFrame } from "../../wire/frames.ts";
import { FROM_GUEST, TO_GUEST } from "../../wire/messages.ts";
import { uncurry } from "../../wire/uncurry.ts";
import { safeMap } from "../safe-map.ts";
import { onPort, type PortFrame, postFrame, unrefPort } from "./port.ts";

const prototype: Buffer = Buffer.prototype;
const writeUInt32LE = uncurry(prototype, "writeUInt32LE");
/** The offset of the run id in an `open` or `lookup` frame: after the frame's header. */
const RUN_ID_OFFSET = 9;
const RUN_ID_BYTES = 4;

/** Relays frames between the service and the workers of this guest. Only the main thread has the descriptor. */
export interface Relay {
  /** @param runId The run that started the worker. It is charged for the worker's connections. */
  adopt(port: MessagePort, runId: number): void;
  /** The workers that have not ended. */
  readonly workers: number;
  /** Returns whether the frame was for a worker. */
  deliver(type: number, id: number, payload: Buffer): boolean;
}

export function makeRelay(send: (frame: Buffer) => void): Relay {
  const streams = safeMap<number, MessagePort>();
  const lookups = safeMap<number, MessagePort>();

  function onFrame(port: MessagePort, runId: number, { frame, type, id }: PortFrame): void {
    if (type === FROM_GUEST.open || type === FROM_GUEST.lookup) {
      const owners = type === FROM_GUEST.open ? streams : lookups;
      if (owners.has(id) || frame.length < RUN_ID_OFFSET + RUN_ID_BYTES) return;
      owners.set(id, port);
      writeUInt32LE(frame, runId, RUN_ID_OFFSET);
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

  let workers = 0;

  function adopt(port: MessagePort, runId: number): void {
    workers += 1;
    onPort(port, {
      frame: (frame) => onFrame(port, runId, frame),
      // The port of a worker that this worker started.
      port: (other) => adopt(other, runId),
      closed: () => {
        workers -= 1;
        drop(port);
      },
    });
    unrefPort(port);
  }

  return {
    adopt,
    get workers() {
      return workers;
    },
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
