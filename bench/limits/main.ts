/**
 * Measures the limits: what the worst client gets past each of the usual algorithms and past ours, the time of a decision,
 * and the memory of the counts.
 *
 *   npm run bench:limits [-- --write]
 *
 * With `--write` it updates the table and the picture of docs/explanation/limits.md.
 */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";

import type { MemoryFigures } from "./memory.ts";
import { document, worstCases } from "./worst-case.ts";

const MEGABYTE = 1e6;

const cases = worstCases();
console.log(cases.table);
if (process.argv.includes("--write")) await document(cases);

const program = path.join(import.meta.dirname, "memory.ts");
const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", program]);
const figures = JSON.parse(stdout) as MemoryFigures;
console.log(`a decision over 12 windows: ${figures.decisionUs.toFixed(2)} µs (budget 2)`);
console.log(`${figures.keys} keys used once: ${megabytes(figures.keysBytes)} at most (budget 600 MB)`);
console.log(
  `  a month and as many other decisions later: ${figures.keysLeft} keys, ${megabytes(figures.bytesLeft)} of the heap`,
);
console.log(`a key used a million times a day: ${(figures.busyBytes / 1_024).toFixed(1)} KiB (budget 12)`);

function megabytes(bytes: number): string {
  return `${(bytes / MEGABYTE).toFixed(0)} MB`;
}
