import assert from "node:assert/strict";
import { it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { LogFileSink, type LogSinkParts } from "../../../src/http/run/log-sink.ts";
import type { RunTrace } from "../../../src/http/run/run-trace.ts";
import type { Log, RunNames } from "../../../src/telemetry/log.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Returns sinks as a guest keeps them after the runs, and their traces. */
function sinksOf(count: number, logged: string[]): { sinks: LogFileSink[]; traces: WeakRef<object>[] } {
  const log = { task: (_names: RunNames, _level: number, text: () => string) => logged.push(text()) };
  const traces: WeakRef<object>[] = [];
  const sinks = Array.from({ length: count }, () => {
    const trace = { container: "c", run: "r", meter: null, print: () => null } as unknown as RunTrace;
    traces.push(new WeakRef(trace));
    const parts = { log: log as unknown as Log, counts: {}, records: {}, names: {}, secrets: null };
    return new LogFileSink(parts as unknown as LogSinkParts, { trace, recorded: null });
  });
  return { sinks, traces };
}

it("a log sink that a guest keeps for late lines does not keep the record of its run, and still logs", async () => {
  const logged: string[] = [];
  const { sinks, traces } = sinksOf(10, logged);
  const isAlive = (): boolean[] => traces.map((trace) => trace.deref() !== undefined);
  for (const sink of sinks.slice(0, 5)) sink.end();
  await turn();
  collectGarbage();
  assert.deepEqual(isAlive(), [...Array<boolean>(5).fill(false), ...Array<boolean>(5).fill(true)]);
  for (const sink of sinks) sink.log(1, Buffer.from("late"));
  assert.equal(logged.length, 10);
});
