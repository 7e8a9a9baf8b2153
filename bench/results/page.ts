import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { picture } from "./picture.ts";
import type { Results } from "./results.ts";
import { table } from "./table.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const RESULTS = path.join(ROOT, "bench/results.json");
const PAGE = path.join(ROOT, "docs/explanation/performance.md");
const PICTURE = path.join(ROOT, "docs/explanation/performance.svg");
const MARKS = ["<!-- npm run bench: -->\n", "<!-- . -->"] as const;
const KIB_PER_GIB = 1_024;

/** What the documents contain of the results. */
export interface Documented {
  /** The page. */
  readonly page: string;
  /** An SVG image; null as long as there are no results. */
  readonly picture: string | null;
}

/** Writes the figures into the documents. Does nothing as long as there is no `bench/results.json`. */
export async function writePage(): Promise<void> {
  const made = await madeFromResults();
  if (made === null) return console.log("bench/results.json is missing: npm run bench writes it");
  await writeFile(PAGE, made.page);
  if (made.picture !== null) await writeFile(PICTURE, made.picture);
}

/** Returns what the documents must contain; null as long as there is no `bench/results.json`. */
export async function madeFromResults(): Promise<Documented | null> {
  if (!existsSync(RESULTS)) return null;
  const results = JSON.parse(await readFile(RESULTS, "utf8")) as Results;
  return { page: withFigures(await readFile(PAGE, "utf8"), results), picture: picture(results) };
}

/** Returns what the documents contain now. */
export async function documented(): Promise<Documented> {
  return {
    page: await readFile(PAGE, "utf8"),
    picture: existsSync(PICTURE) ? await readFile(PICTURE, "utf8") : null,
  };
}

/** Returns a page with the figures between its marks. */
export function withFigures(page: string, results: Results): string {
  const [before, rest] = page.split(MARKS[0]);
  const after = rest?.split(MARKS[1])[1];
  if (after === undefined) throw new Error(`the page has no part for the figures: ${MARKS.join("")}`);
  return `${before}${MARKS[0]}${figures(results)}${MARKS[1]}${after}`;
}

function figures(results: Results): string {
  const { machine, date, rounds, seconds, isolation } = results;
  const memory = (machine.memoryMiB / KIB_PER_GIB).toFixed(0);
  const where = [
    `Measured on ${date.slice(0, 10)} on ${machine.processor}, ${machine.cores} cores, ${memory} GiB of memory, ${machine.kernel},`,
    `Node ${machine.node}, isolation level \`${isolation ?? "none"}\`, ${commitOf(results)}.`,
    `Rounds: ${rounds}, fewer for rows that take long. Each figure is their median. Seconds of each load: ${seconds}.`,
  ];
  return `
## Figures

${where.join("\n")}

![Runs a second of caisson and of other runtimes, if each request has new code](performance.svg)

${table(results)}
`;
}

function commitOf({ commit, isChanged }: Results): string {
  if (commit === null) return "no commit";
  return `commit \`${commit.slice(0, 7)}\`${isChanged ? " with changes" : ""}`;
}
