import { parentPort, workerData } from "node:worker_threads";

import { reasonOf } from "../sqlite-fault.ts";
import { DayWriter } from "./day-writer.ts";
import type { Batch, FromWriter, ToWriter, WriterSettings } from "./messages.ts";

/** The interval at which old days are deleted. */
const CHECK_MS = 60_000;

/** The thread that `RecordWriter` starts. */
const writer = new DayWriter(workerData as WriterSettings);
check();
const timer = setInterval(check, CHECK_MS);
parentPort!.on("message", (message: ToWriter) => {
  if (message.kind === "batch") return send(write(message.batch));
  clearInterval(timer);
  writer.close();
  parentPort!.close();
});

function write(batch: Batch): FromWriter {
  try {
    return { kind: "written", outcome: writer.write(batch, Date.now()) };
  } catch (error) {
    return { kind: "failed", reason: reasonOf(error) };
  }
}

function check(): void {
  try {
    send({ kind: "checked", reason: null, kept: writer.check(Date.now()) });
  } catch (error) {
    send({ kind: "checked", reason: reasonOf(error) });
  }
}

function send(message: FromWriter): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort!.postMessage(message);
}
