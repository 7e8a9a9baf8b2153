/**
 * A process that makes runs without end, for tests that kill it: `spender.ts <folder> <fsync> <compactAtBytes>`. Prints one
 * line for each turn: how many runs were answered so far, and the error code if one was refused.
 */
import { writeSync } from "node:fs";
import { setTimeout } from "node:timers/promises";

import { Problem } from "../../../src/errors.ts";
import { EmbeddedLimitStore } from "../../../src/limits/stores/embedded.ts";
import { charge } from "../../suites/limit-store.ts";
import { readOne } from "../read-one.ts";

const [folder, fsync, compactAtBytes] = process.argv.slice(2);
const store = await EmbeddedLimitStore.open(folder!, {
  fsync: fsync === "fsync",
  compactAtBytes: Number(compactAtBytes),
});
const limits = { month: 1e9 };
let answered = 0;

for (let turn = 0; ; turn++) {
  const runs = Array.from({ length: 20 }, (_, key) =>
    store.admit([charge("all", limits), charge(`key ${turn} ${key}`, limits)]),
  );
  const outcomes = await Promise.allSettled(runs);
  answered += outcomes.filter(({ status }) => status === "fulfilled").length;
  const refused = outcomes.find(({ status }) => status === "rejected");
  const inMemory = 1e9 - (await readOne(store, charge("all", limits))).remaining.at(-1)!;
  await print(`${answered} ${inMemory} ${refused ? codeOf(refused) : "ok"}\n`);
}

/** Writes a line at once. A busy reader may leave the pipe full, which is an error for a pipe that does not block. */
async function print(line: string): Promise<void> {
  for (;;) {
    try {
      return void writeSync(1, line);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      await setTimeout(1);
    }
  }
}

function codeOf(outcome: PromiseSettledResult<unknown>): string {
  return outcome.status === "rejected" && outcome.reason instanceof Problem ? outcome.reason.code : "unexpected";
}
