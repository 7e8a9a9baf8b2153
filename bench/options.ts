import { parseArgs } from "node:util";

import type { Row } from "./row.ts";

export interface Options {
  readonly rows: readonly Row[];
  readonly rounds: number;
  /** The seconds of one load. */
  readonly seconds: number;
  readonly isQuick: boolean;
  /** Whether all rows are measured at full length, so that the figures may go into the documents. */
  readonly isFull: boolean;
  readonly check: boolean;
  /** The file of the results; null for the default. */
  readonly out: string | null;
  /** Flags for every service. */
  readonly flags: readonly string[];
}

const FULL = { rounds: 5, seconds: 3 };
const QUICK = { rounds: 3, seconds: 1 };

export const USAGE: string = `npm run bench [-- options]

  --quick               few rows, short rounds, no peers; less than a minute
  --only ROW[,ROW]      these rows only
  --check               exit with 1 if a figure is worse than its budget
  --rounds NUMBER       rounds of most rows, ${FULL.rounds} by default (quick: ${QUICK.rounds})
  --seconds NUMBER      seconds of one load, ${FULL.seconds} by default (quick: ${QUICK.seconds})
  --out FILE            file of the results, by default bench/results.json for all rows at full length
                        and dist/bench.json otherwise
  --isolation LEVEL     isolation level of the service, by default the strongest of this machine
  --page                write the documents from bench/results.json, and measure nothing
`;

/** Reads the command line. @throws {TypeError} if it has a fault */
export function parseOptions(words: readonly string[], all: readonly Row[]): Options | "help" | "page" {
  const { values } = parseArgs({
    args: [...words],
    options: {
      quick: { type: "boolean", default: false },
      check: { type: "boolean", default: false },
      page: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
      only: { type: "string" },
      rounds: { type: "string" },
      seconds: { type: "string" },
      out: { type: "string" },
      isolation: { type: "string" },
    },
  });
  if (values.help) return "help";
  if (values.page) return "page";
  const defaults = values.quick ? QUICK : FULL;
  const { only, isolation } = values;
  return {
    rows: only === undefined ? all.filter((row) => isWanted(row, values.quick)) : named(only, all),
    rounds: whole("--rounds", values.rounds, defaults.rounds),
    seconds: whole("--seconds", values.seconds, defaults.seconds),
    isQuick: values.quick,
    isFull: [values.quick, only, values.rounds, values.seconds, isolation].every((value) => !value),
    check: values.check,
    out: values.out ?? null,
    flags: isolation === undefined ? [] : ["--isolation", isolation],
  };
}

/** Rows that this machine cannot measure are left out, unless the reader names them. */
function isWanted({ isQuick = false, isPossible = () => true }: Row, areQuick: boolean): boolean {
  return (isQuick || !areQuick) && isPossible();
}

function named(only: string, all: readonly Row[]): Row[] {
  const ids = only.split(",");
  const unknown = ids.filter((id) => !all.some((row) => row.id === id));
  if (unknown.length > 0) {
    throw new TypeError(`no row is named ${unknown.join(", ")}; the rows are ${all.map(({ id }) => id).join(", ")}`);
  }
  return all.filter(({ id }) => ids.includes(id));
}

function whole(flag: string, text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new TypeError(`${flag} needs a whole number from 1 on, and not "${text}"`);
  return value;
}
