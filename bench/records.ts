/**
 * Measures what records of runs cost the service: its processor time for each run, against a service that keeps no records
 * on disk, and against another checkout if one is named. The rounds are interleaved; a figure is the median of the rounds.
 *
 *   npm run bench:records [-- <rounds> <seconds> [<another checkout>]]
 */
import { median } from "./figures.ts";
import { load } from "./load/wrk.ts";
import { cpuMs, type MeasuredService, startOther, startService } from "./processes.ts";

const [rounds = 5, seconds = 3] = process.argv.slice(2, 4).map(Number);
const other = process.argv[4];
const CONNECTIONS = 16;
const PRINTING = `for (let line = 0; line < 10; line++) console.log("line", line, "of ten");\nreturn 42;`;

await using kept = await startService();
await using off = await startService("--keep-runs", "0s");
await using before = other === undefined ? null : await startOther(other);

await compare("a silent task", undefined, "at most 1 µs more than without records on disk");
await compare("a task that prints ten lines", PRINTING, "at most 15 % more than without records on disk");

async function compare(what: string, code: string | undefined, budget: string): Promise<void> {
  const services = [kept, off, ...(before ? [before] : [])];
  const us: number[][] = services.map(() => []);
  for (let round = -1; round < rounds; round++) {
    for (const [at, service] of services.entries()) {
      const each = await usPerRun(service, code);
      // The first round compiles and warms up.
      if (round >= 0) us[at]!.push(each);
    }
  }
  const [withRecords, without, earlier] = us.map(median);
  const more = withRecords! - without!;
  console.log(
    `${what}: ${withRecords!.toFixed(1)} µs of the service a run, ${without!.toFixed(1)} without records on disk`,
  );
  console.log(`  ${more.toFixed(1)} µs or ${((100 * more) / without!).toFixed(0)} % more (budget: ${budget})`);
  if (earlier !== undefined) console.log(`  the other checkout: ${earlier.toFixed(1)} µs`);
  for (const [at, all] of us.entries()) {
    console.log(`  ${["kept", "off", "other"][at]}: ${all.map((each) => each.toFixed(1)).join(" ")}`);
  }
}

async function usPerRun({ url, token, pid }: MeasuredService, code: string | undefined): Promise<number> {
  const startMs = await cpuMs(pid);
  const { requests } = await load(`${url}/`, { connections: CONNECTIONS, seconds, token, ...(code && { code }) });
  return (1_000 * ((await cpuMs(pid)) - startMs)) / requests;
}
