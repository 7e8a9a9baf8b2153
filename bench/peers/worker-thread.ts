/** A worker thread of Node for each run. A thread is not a sandbox. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";

import { asCall, serve } from "./front.ts";

serve(async (code) => {
  const worker = new Worker(`require("node:worker_threads").parentPort.postMessage(${asCall(code)})`, { eval: true });
  try {
    const [value] = (await once(worker, "message")) as [unknown];
    return JSON.stringify(value);
  } finally {
    await worker.terminate();
  }
});
