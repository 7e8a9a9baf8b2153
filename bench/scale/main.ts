/**
 * Starts the deployment of `deploy/` with the programs of this machine: nodes behind nginx, on one Redis. Loads it, stops
 * one part after the other, and prints the results.
 *
 *   npm run scale [-- <nodes> <seconds of quiet around each fault>]
 */
import { startTopology } from "./topology.ts";
import { STOPPED, tryFaults } from "./trial.ts";

/** The maximum wait of a client while a node is stopped. */
const STOP_WAIT_MS = 1_000;

const [count = 2, quietSeconds = 3] = process.argv.slice(2).map(Number);
if (count < 2) throw new TypeError("at least two nodes are needed, because one is stopped");

await using topology = await startTopology(count);
console.log(`${count} nodes behind nginx at http://127.0.0.1:${topology.port}, on ${topology.redis.url}`);
const { phases, counts } = await tryFaults(topology, {
  callers: 16,
  containers: 8,
  limit: 3_000,
  betweenMs: 0,
  quietMs: quietSeconds * 1_000,
  pausedMs: 2_000,
});
for (const { name, answers, longestMs, recoveredMs } of phases) {
  const seen = [...answers].toSorted(([one], [other]) => one - other);
  const texts = seen.map(([status, times]) => `${times} x ${status === 0 ? "no answer" : status}`);
  console.log(
    `${name}: ${texts.join(", ")}; recovered in ${recoveredMs.toFixed(0)} ms; longest wait ${longestMs.toFixed(0)} ms`,
  );
}
let faults = 0;
const stop = phases.find(({ name }) => name === STOPPED)!;
const lost = [...stop.answers.keys()].filter((status) => status !== 200 && status !== 429);
if (stop.longestMs > STOP_WAIT_MS || lost.length > 0) {
  faults++;
  console.log(`${STOPPED}: a client waited for more than ${STOP_WAIT_MS} ms, or had no answer  WRONG`);
}
for (const { container, answered, counted, limit } of counts) {
  const wrong = counted > limit || answered > counted;
  if (wrong) faults++;
  console.log(`${container}: ${answered} answered, ${counted} counted, ${limit} allowed${wrong ? "  WRONG" : ""}`);
}
console.log(faults === 0 ? "never more runs than allowed, and every answered run is counted" : `${faults} WRONG`);
process.exitCode = faults === 0 ? 0 : 1;
