/**
 * Measures the service against a bare `node:http` server and against other runtimes, in the same minutes. Machines are
 * shared and noisy, so a figure is a ratio where it can be, and the median of several rounds. Each round measures every row,
 * next to its reference. `--help` prints the options.
 *
 *   npm run bench [-- --quick] [--check] [--only ROW,ROW]
 */
import { writeFile } from "node:fs/promises";
import path from "node:path";

import { Bench } from "./bench.ts";
import { requireWrk } from "./load/wrk.ts";
import { measureRounds } from "./measure.ts";
import { type Options, parseOptions, USAGE } from "./options.ts";
import { writePage } from "./results/page.ts";
import { faultsOf, type Results } from "./results/results.ts";
import { table } from "./results/table.ts";
import { ROWS } from "./rows.ts";

const ROOT = path.join(import.meta.dirname, "..");
const FULL_RESULTS = path.join(ROOT, "bench/results.json");
const PART_RESULTS = path.join(ROOT, "dist/bench.json");

try {
  const options = parseOptions(process.argv.slice(2), ROWS);
  if (options === "help") console.log(`${USAGE}\nrows: ${ROWS.map(({ id }) => id).join(", ")}`);
  else if (options === "page") await writePage();
  else process.exitCode = await main(options);
} catch (error) {
  console.error(`bench: ${(error as Error).message}`);
  process.exitCode = 2;
}

/** @returns the exit code: 1 if a row could not be measured, or with `--check` if a figure is worse than its budget */
async function main(options: Options): Promise<number> {
  if (options.rows.some(({ needsWrk }) => needsWrk)) requireWrk();
  const results = await measure(options);
  const file = options.out ?? (options.isFull ? FULL_RESULTS : PART_RESULTS);
  await writeFile(file, `${JSON.stringify(results, null, 2)}\n`);
  console.log(`\n${table(results)}\nwrote ${path.relative(process.cwd(), file)}`);
  if (options.isFull && options.out === null) await writePage();
  const faults = faultsOf(results);
  for (const fault of faults) console.log(`${options.check ? "FAILED" : "note"}: ${fault}`);
  const isUnmeasured = results.rows.some(({ peer, failure }) => peer === undefined && failure !== undefined);
  return isUnmeasured || (options.check && faults.length > 0) ? 1 : 0;
}

async function measure(options: Options): Promise<Results> {
  await using bench = new Bench(options);
  return await measureRounds(bench, options);
}
