import { Command } from "commander";

import type { RunPage, RunRecord } from "../../client/src/index.ts";
import { readPage } from "./pages.ts";
import { printable, printableLines } from "./print/printable.ts";
import { fields, table } from "./print/table.ts";
import { bytesText, msText, timeText } from "./print/texts.ts";
import { count, name, remote } from "./remote.ts";
import { filesOfTask, runErrorLines } from "./runs/error-lines.ts";

type Entry = RunPage["runs"][number];

/** The flags that select runs. */
export interface SelectFlags {
  readonly task?: string;
  readonly status?: string;
  readonly since?: string;
  readonly until?: string;
  readonly q?: string;
  readonly limit: number;
}

export function runsCommand(): Command {
  return new Command("runs")
    .description("list, show and cancel runs")
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(cancelCommand())
    .showHelpAfterError("The commands are list, show and cancel.");
}

/** Adds the flags that select runs. @param most the default of `--limit` */
export function addSelection(command: Command, most: number): Command {
  return command
    .option("--task <name>", "only runs of this named task")
    .option("--status <list>", "only with these statuses, such as threw,timeout")
    .option("--since <time>", "the beginning: a time, or a duration before now such as 24h")
    .option("--until <time>", "the end, in the same forms")
    .option("--q <text>", "only runs whose error, console or task contains this text")
    .option("--limit <count>", "the most runs", count, most);
}

/** Returns the query of the flags of `addSelection`. */
export function selectionOf({ task, status, since, until, q, limit }: SelectFlags): object {
  return { task, status, since, until, q, limit };
}

function listCommand(): Command {
  const command = new Command("list")
    .description("list runs, the newest first")
    .argument("[container]", "only of this container", name);
  addSelection(command, 50);
  const examples = [
    "runs list acme",
    "runs list --status threw,timeout --since 24h",
    "runs list acme --task hook --json",
  ];
  return remote<SelectFlags>(command, examples, async ({ caisson, flags, print }, container) => {
    const list = caisson.runs.list({ ...selectionOf(flags), ...(container !== undefined && { container }) });
    const runs = await readPage(list, flags.limit);
    print(runs, () => listText(runs, container === undefined));
  });
}

function listText(runs: readonly Entry[], withContainer: boolean): string {
  const columns = [
    { head: "run" },
    { head: "started" },
    { head: "status" },
    { head: "time", align: "right" },
    { head: withContainer ? "container task" : "task" },
  ] as const;
  const rows = runs.map(({ run, container, task, version, startedAt, status, ms, error }) => {
    const of = task === null ? "-" : `${task} v${version}`;
    const what = withContainer ? `${container} ${of}` : of;
    const where = error?.at ? ` at ${filesOfTask(task)(error.at.file)}:${error.at.line}:${error.at.column}` : "";
    return [run, timeText(startedAt), status, msText(ms.run), error === null ? what : `${what}  ${error.code}${where}`];
  });
  return table(columns, rows);
}

function showCommand(): Command {
  const command = runVerb("show", "print the record of a run: its error, its console, its times");
  const examples = ["runs show acme e506c653c0d4-2", "runs show acme e506c653c0d4-2 --json"];
  return remote(command, examples, async ({ caisson, print }, container, run) => {
    const record = await caisson.runs.get(container, run);
    print(record, () => recordText(record));
  });
}

function recordText(record: RunRecord): string {
  const { task, version, ms, guest, egress, error, dropped, response } = record;
  const text = fields([
    ["run", record.run],
    ["container", record.container],
    ["task", task === null ? null : `${task} v${version}`],
    ["status", record.status],
    ["response", response === null ? null : `status ${response.status}`],
    ["started", timeText(record.startedAt)],
    ["time", `${msText(ms.run)}, in the queue ${msText(ms.queue)}, start ${msText(ms.start)} (${record.start ?? "-"})`],
    ["cpu", guest.cpuMs === null ? null : msText(guest.cpuMs)],
    ["memory", guest.memoryPeakBytes === null ? null : bytesText(guest.memoryPeakBytes)],
    [
      "network",
      `${egress.connections} connections, ${bytesText(egress.bytesSent)} out, ${bytesText(egress.bytesReceived)} in`,
    ],
    ["token", record.token ?? "none"],
    ["node", record.node],
    ["hint", error === null ? record.hint : null],
    ["input", record.input === undefined ? null : record.input],
  ]);
  const lines = (record.console ?? []).flatMap(({ atMs, level, text: line }) => {
    const head = `${String(Math.round(atMs)).padStart(6)} ms  ${printable(level).padEnd(5)}  `;
    return printableLines(line).map((each) => `${head}${each}\n`);
  });
  const lost = dropped.lines > 0 ? [`(${dropped.lines} lines were dropped)\n`] : [];
  const failure = error === null ? [] : ["\n", ...runErrorLines(error, filesOfTask(task)).map((line) => `${line}\n`)];
  return [text, ...(lines.length > 0 ? ["\n"] : []), ...lines, ...lost, ...failure].join("");
}

function cancelCommand(): Command {
  const command = runVerb("cancel", "end a run that the token, or a token below it, has started");
  return remote(command, ["runs cancel acme e506c653c0d4-2"], async ({ caisson, print }, container, run) => {
    const answer = await caisson.runs.cancel(container, run);
    print(answer, () => fields([["cancelled", run]]));
  });
}

function runVerb(verb: string, description: string): Command {
  return new Command(verb)
    .description(description)
    .argument("<container>", "the container", name)
    .argument("<run>", "the id of the run, from runs list, logs, or the header Caisson-Run", name)
    .showHelpAfterError(`The form is: caisson runs ${verb} acme e506c653c0d4-2`);
}
