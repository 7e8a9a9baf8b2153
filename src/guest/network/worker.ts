import { syncBuiltinESMExports } from "node:module";
import threads from "node:worker_threads";

import { hideOwnFrames } from "../stack-frames.ts";
import { installNetwork, onThreadFrame } from "./install.ts";
import { onPort, postFrame, postPort, refPort, unrefPort } from "./port.ts";
import type { WorkerNetwork } from "./workers.ts";

/** Runs in each worker before the task's code. It routes the worker's network through the main thread. */

const { network, data } = threads.workerData as WorkerNetwork;
Object.assign(threads, { workerData: data });
syncBuiltinESMExports();

const { port, ids } = network;
let held = 0;

hideOwnFrames();

installNetwork({
  ids,
  send: (frame) => postFrame(port, frame),
  // The main thread fills in the run that started this worker.
  payer: () => 0,
  hold: () => {
    held += 1;
    if (held === 1) refPort(port);
  },
  release: () => {
    held -= 1;
    if (held === 0) unrefPort(port);
  },
  adopt: (other) => postPort(port, other),
});
onPort(port, {
  frame: ({ type, id, payload }) => onThreadFrame(type, id, payload),
  port: () => {},
  closed: () => {},
});
unrefPort(port);
