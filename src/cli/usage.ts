import { Command, Option } from "commander";

import type { Usage } from "../../client/src/index.ts";
import { parseDuration } from "../units.ts";
import { UsageError } from "./exits.ts";
import { say } from "./print/say.ts";
import { table } from "./print/table.ts";
import { bytesText, msText } from "./print/texts.ts";
import { remote } from "./remote.ts";

type Entry = Usage["usage"][number];
type By = "container" | "task" | "token";

interface UsageFlags {
  readonly by: By;
  readonly step?: "hour" | "day";
  readonly since: string;
  readonly until?: string;
}

export function usageCommand(): Command {
  const command = new Command("usage")
    .description("count runs, processor time and bytes by container, task or token")
    .addOption(
      new Option("--by <kind>", "what each row counts").choices(["container", "task", "token"]).default("container"),
    )
    .addOption(new Option("--step <time>", "a row for each hour or day, in UTC").choices(["hour", "day"]))
    .option("--since <time>", "the beginning: a date, a time, or a duration before now such as 7d", "24h")
    .option("--until <time>", "the end, in the same forms; default: now");
  const examples = ["usage", "usage --by task --since 7d", "usage --since 2026-11-01 --step day --json"];
  return remote<UsageFlags>(command, examples, async ({ caisson, flags, print, json }) => {
    const { by, step, since, until } = flags;
    // Without rows for each step, days make a shorter answer. An hour is exact for a short time.
    const isLong = Date.now() - Date.parse(timeOf("--since", since)) > LONG_MS;
    const asked = step ?? (isLong ? "day" : "hour");
    const from = timeOf("--since", since);
    const to = until && timeOf("--until", until);
    if (Date.parse(from) >= (to ? Date.parse(to) : Date.now()))
      throw new UsageError(`--since ${since} is not before ${until ? `--until ${until}` : "now"}`);
    const usage = await caisson.usage({ by, step: asked, from, ...(to && { to }) });
    print(usage, () => usageText(usage, by, step));
    if (usage.truncated && !json) say("some names are counted as (other); choose a shorter time, or --step day");
    if (usage.nodes.answered < usage.nodes.asked && !json)
      say(`${usage.nodes.asked - usage.nodes.answered} of ${usage.nodes.asked} nodes did not answer`);
  });
}

const LONG_MS = 48 * 3_600_000;

/** Converts a duration before now into a time. Dates and times stay as they are. @throws {UsageError} */
export function timeOf(flag: string, text: string): string {
  if (!/^\d+[a-z]+$/i.test(text)) {
    // Date.parse takes 7 for a month, and the service takes only what begins with a year.
    if (/^\d{4}-/.test(text) && !Number.isNaN(Date.parse(text))) return text;
    const question = /^\d{1,3}$/.test(text) ? `; did you mean ${text}d?` : "";
    throw new UsageError(
      `${flag} ${text} is not a date, a time, or a duration before now, such as 2026-11-01 or 7d${question}`,
    );
  }
  try {
    return new Date(Date.now() - parseDuration(text)).toISOString();
  } catch (error) {
    throw new UsageError(`${flag}: ${(error as Error).message}`, { cause: error });
  }
}

function usageText({ usage }: Usage, by: By, step: UsageFlags["step"]): string {
  const rows = step === undefined ? summed(usage, by) : usage.map((entry) => ({ ...countsOf(entry), entry }));
  const columns = [
    ...(step === undefined ? [] : [{ head: step === "day" ? "day" : "hour" }]),
    { head: "runs", align: "right" } as const,
    { head: "failed", align: "right" } as const,
    { head: "refused", align: "right" } as const,
    { head: "cpu", align: "right" } as const,
    { head: "time", align: "right" } as const,
    { head: "egress", align: "right" } as const,
    { head: by },
  ];
  return table(
    columns,
    rows.map(({ entry, runs, failed, refused, cpuMs, runMs, egressBytes }) => [
      ...(step === undefined ? [] : [stepText(entry.from, step)]),
      ...[runs, failed, refused].map(String),
      ...[msText(cpuMs), msText(runMs), bytesText(egressBytes), nameOf(entry, by)],
    ]),
  );
}

interface Counts {
  readonly runs: number;
  readonly failed: number;
  readonly refused: number;
  readonly cpuMs: number;
  readonly runMs: number;
  readonly egressBytes: number;
}

/** Statuses of runs that have not failed. */
const NOT_FAILED: ReadonlySet<string> = new Set(["ok", "running", "cancelled"]);

function countsOf({ runs, refused, cpuMs, runMs, egressBytes }: Entry): Counts {
  const failures = Object.entries(runs).filter(([status]) => !NOT_FAILED.has(status));
  return {
    ...{ runs: sum(Object.values(runs)), failed: sum(failures.map(([, count]) => count)) },
    ...{ refused: sum(Object.values(refused)), cpuMs, runMs, egressBytes },
  };
}

/** Adds up the steps of each name. The names with the most runs are first. */
function summed(usage: readonly Entry[], by: By): (Counts & { readonly entry: Entry })[] {
  const groups = Map.groupBy(usage, (entry) => nameOf(entry, by));
  const rows = [...groups.values()].map((entries) => {
    const counts = entries.map(countsOf);
    const total = (key: keyof Counts): number => sum(counts.map((each) => each[key]));
    return {
      ...{ entry: entries[0]!, runs: total("runs"), failed: total("failed"), refused: total("refused") },
      ...{ cpuMs: total("cpuMs"), runMs: total("runMs"), egressBytes: total("egressBytes") },
    };
  });
  return rows.toSorted((a, b) => b.runs - a.runs);
}

function nameOf({ container, task, token }: Entry, by: By): string {
  if (by === "container") return container;
  return `${container} ${(by === "task" ? task : token) ?? "-"}`;
}

function stepText(from: string, step: "hour" | "day"): string {
  const text = from.replace("T", " ");
  return step === "day" ? text.slice(0, 10) : `${text.slice(0, 16)}Z`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
