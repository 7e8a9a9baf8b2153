import { parentPort, workerData } from "node:worker_threads";

import { request } from "../../test/contract/http.ts";
import type { Ask, Told } from "./timed-runs.ts";

const port = workerData as number;
const tell = (told: Told): void => parentPort!.postMessage(told, []);

parentPort!.on("message", async ({ id, container, code, token }: Ask) => {
  const startMs = performance.now();
  try {
    const answer = await request(port, "POST", `/api/run/${container}`, { token, body: code });
    const tookMs = performance.now() - startMs;
    const { status, headers, rawHeaders, bytes, text, complete } = answer;
    tell({ id, tookMs, answer: { status, headers, rawHeaders, bytes, text, complete } });
  } catch (error) {
    tell({ id, error: String(error) });
  }
});
