import type { Bench } from "./bench.ts";
import type { Options } from "./options.ts";
import { versionOf } from "./peers/install.ts";
import { thisCommit, thisMachine } from "./results/machine.ts";
import { inUnit, type Results, type RowResult, rowResult } from "./results/results.ts";
import type { Round, Row } from "./row.ts";

/** What the rounds so far have shown about a row. */
interface Progress {
  readonly row: Row;
  readonly rounds: Round[];
  failure?: string;
}

/** Measures every row in each round, and prints each figure as it comes. */
export async function measureRounds(bench: Bench, options: Options): Promise<Results> {
  const { rounds, seconds, isFull } = options;
  const date = new Date().toISOString();
  const [machine, commit] = [await thisMachine(), await thisCommit()];
  const all: Progress[] = options.rows.map((row) => ({ row, rounds: [] }));
  for (let round = 0; round < rounds; round++) {
    bench.round = round;
    for (const progress of all) {
      const { mostRounds = Infinity } = progress.row;
      // A row that failed once would fail again, and take its time again.
      if (round >= mostRounds || progress.failure !== undefined) continue;
      await measureRow(bench, progress, `${round + 1}/${Math.min(rounds, mostRounds)}`);
    }
  }
  const rows: RowResult[] = [];
  for (const { row, rounds: measured, failure } of all)
    rows.push(rowResult(row, measured, failure, await peerVersion(row)));
  return { date, ...commit, isFull, machine, isolation: bench.isolation, rounds, seconds, rows };
}

async function measureRow(bench: Bench, progress: Progress, round: string): Promise<void> {
  const { row, rounds } = progress;
  try {
    const measured = await row.measure(bench);
    rounds.push(measured);
    const texts = row.figures.map((figure) => `${figure.title} ${inUnit(figure, measured[figure.id]!)}`);
    print(`${round} ${row.id}: ${texts.join("; ")}`);
  } catch (error) {
    progress.failure = (error as Error).message;
    print(`${round} ${row.id}: not measured: ${progress.failure}`);
  }
}

async function peerVersion({ peer }: Row): Promise<string> {
  if (peer === undefined) return "";
  if (peer.package === undefined) return process.versions.node;
  return versionOf(peer.package).catch(() => "not installed");
}

function print(line: string): void {
  console.log(`${new Date().toTimeString().slice(0, 8)}  ${line}`);
}
