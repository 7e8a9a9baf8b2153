import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { worstCase } from "./adversary.ts";
import { CANDIDATES } from "./algorithms.ts";
import { type Panel, picture } from "./picture.ts";
import { saturate } from "./saturation.ts";

const DOCS = path.join(import.meta.dirname, "../../docs/explanation");
const PAGE = path.join(DOCS, "limits.md");
const PICTURE = path.join(DOCS, "limits-worst-case.svg");
const MARKS = ["<!-- npm run bench:limits -- --write: -->\n", "<!-- . -->"] as const;

export interface WorstCases {
  /** A Markdown table. */
  readonly table: string;
  /** An SVG image. */
  readonly picture: string;
}

/** Tests every algorithm against the same adversary. The result is the same at each start. */
export function worstCases(): WorstCases {
  const rows: string[][] = [["algorithm (who uses it)", "worst", "least throughput", "numbers held"]];
  const panels: Panel[] = [];
  for (const candidate of CANDIDATES) {
    const { worst, times } = worstCase(candidate);
    const { throughput, numbers } = saturate(candidate);
    const name = `${candidate.name} (${candidate.usedBy})`;
    rows.push([name, `${worst}`, `${(100 * throughput).toFixed(1)} %`, `${numbers}`]);
    panels.push({ name: candidate.name, worst, times });
  }
  return { table: markdown(rows), picture: picture(panels) };
}

/** The current contents of the page and of its picture. */
export async function documented(): Promise<WorstCases> {
  const page = await readFile(PAGE, "utf8");
  return { table: page.split(MARKS[0])[1]!.split(MARKS[1])[0]!, picture: await readFile(PICTURE, "utf8") };
}

export async function document({ table, picture: drawn }: WorstCases): Promise<void> {
  const page = await readFile(PAGE, "utf8");
  const [before, rest] = page.split(MARKS[0]);
  await writeFile(PAGE, `${before}${MARKS[0]}${table}${MARKS[1]}${rest!.split(MARKS[1])[1]}`);
  await writeFile(PICTURE, drawn);
}

/** Formats a table like the formatter of this project. */
function markdown(rows: readonly string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[], fill: string): string => {
    const padded = cells.map((cell, at) =>
      at === 0 ? cell.padEnd(widths[at]!, fill) : cell.padStart(widths[at]!, fill),
    );
    return `| ${padded.join(" | ")} |\n`;
  };
  const rule = `| ${widths.map((width, at) => (at === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)).join(" | ")} |\n`;
  const [head, ...body] = rows;
  return `\n${line(head!, " ")}${rule}${body.map((row) => line(row, " ")).join("")}\n`;
}
