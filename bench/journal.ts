/**
 * Measures the cost of counts on disk: the service with its journal, with `--fsync`, and with counts in memory only. Each
 * round measures all three. A figure is a ratio, the median of the rounds.
 *
 *   npm run bench:journal [-- <rounds> <seconds>]
 */
import { median } from "./figures.ts";
import { load } from "./load/wrk.ts";
import { cpuMs, type MeasuredService, startChanged, startService } from "./processes.ts";

const [rounds = 15, seconds = 2] = process.argv.slice(2).map(Number);
const CONNECTIONS = 32;
const BUDGET = 0.95;

interface Figures {
  readonly perSecond: number;
  readonly cpuUs: number;
}

await using without = await startChanged("uncounted.ts");
await using journal = await startService();
await using fsync = await startService("--fsync");
const subjects = [without, journal, fsync] as const;

for (const subject of subjects) await measure(subject);
const results: Figures[][] = subjects.map(() => []);
for (let round = 0; round < rounds; round++) {
  // The order changes, because the machine may be warmer or busier for a later measurement.
  for (let turn = 0; turn < subjects.length; turn++) {
    const at = (round + turn) % subjects.length;
    results[at]!.push(await measure(subjects[at]!));
  }
}
report("without a journal", 0);
report(`with the journal (budget ${BUDGET})`, 1);
report("with --fsync", 2);

async function measure(subject: MeasuredService): Promise<Figures> {
  const before = await cpuMs(subject.pid);
  const options = { connections: CONNECTIONS, seconds, token: subject.token };
  const { requestsPerSecond, requests } = await load(`${subject.url}/`, options);
  return { perSecond: requestsPerSecond, cpuUs: (1_000 * ((await cpuMs(subject.pid)) - before)) / requests };
}

function report(what: string, at: number): void {
  const ratio = median(results[at]!.map(({ perSecond }, round) => perSecond / results[0]![round]!.perSecond));
  const perSecond = median(results[at]!.map((figures) => figures.perSecond));
  const cpuUs = median(results[at]!.map((figures) => figures.cpuUs));
  console.log(
    `${what}: ${ratio.toFixed(3)} of the runs; ${perSecond.toFixed(0)}/s, ${cpuUs.toFixed(1)} µs of its process`,
  );
}
