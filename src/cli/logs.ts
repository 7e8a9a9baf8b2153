import { Command } from "commander";

import type { Caisson, RunRecord } from "../../client/src/index.ts";
import { CaissonError } from "../../client/src/index.ts";
import { LogPrinter } from "./logs/printer.ts";
import { say } from "./print/say.ts";
import { name, type Remote, remote } from "./remote.ts";
import { addSelection, type SelectFlags, selectionOf } from "./runs.ts";

interface LogsFlags extends SelectFlags {
  readonly follow?: true;
  readonly failed?: true;
}

/** Requests at a time. */
const AT_A_TIME = 6;
/** Statuses of runs that have failed. */
const FAILED =
  "threw,called_back,timeout,blocked,stalled,memory,exited,syntax,unserializable,too_large,refused,failed,interrupted";

export function logsCommand(): Command {
  const command = new Command("logs")
    .description("print the console and the errors of the latest runs of a container, the newest last")
    .argument("<container>", "the container", name)
    .option("-f, --follow", "continue with new lines as they come, until Ctrl-C")
    .option("--failed", "only runs that failed");
  addSelection(command, 20);
  const examples = ["logs acme", "logs acme -f", "logs acme --task hook --failed --since 24h"];
  command.showHelpAfterError("The form is: caisson logs acme");
  return remote<LogsFlags>(command, examples, logs);
}

async function logs({ caisson, flags, json }: Remote<LogsFlags>, container?: string): Promise<void> {
  const printer = new LogPrinter(json, (text) => void process.stdout.write(text));
  if (flags.follow) return follow(caisson, container!, flags, printer);
  const records = await latest(caisson, container!, flags);
  for (const record of records) print(record, printer);
  if (records.length > 0 || json) return;
  const isAny = !isSelective(flags) && flags.since === undefined && flags.until === undefined;
  if (isAny) return say(`no run of ${container} is on record; caisson logs ${container} -f waits for runs`);
  say(`no run of ${container} on record is selected by these flags`);
  if (flags.status !== undefined) say(`the statuses are ok, running, cancelled, ${FAILED.replaceAll(",", ", ")}`);
  if (flags.status === "failed")
    say("the status failed is a fault of the service; --failed selects all runs that failed");
}

/** Prints the latest runs, then what comes. The connection is open before the latest runs are read, so that none is missed. */
async function follow(caisson: Caisson, container: string, flags: LogsFlags, printer: LogPrinter): Promise<void> {
  const printed = new Set<string>();
  const opened = Promise.withResolvers<void>();
  let isFirst = true;
  const onOpen = (): void => {
    if (!isFirst) say("connected again");
    isFirst = false;
    opened.resolve();
  };
  const events = caisson.runs.follow(container, { onOpen });
  const first = events.next();
  await Promise.race([opened.promise, first]);
  for (const record of await latest(caisson, container, flags)) {
    if (record.status === "running") continue;
    print(record, printer);
    printed.add(record.run);
  }
  say(`following ${container}; Ctrl-C ends`);
  for (let next = await first; !next.done; next = await events.next()) {
    const event = next.value;
    if (event.type === "lost") printer.lost(event.detail);
    // Other runs come with their end, if the flags select them: a line does not say which task it is of.
    else if (event.type === "console" && !isSelective(flags) && !printed.has(event.run)) printer.line(event.run, event);
    else if (event.type === "record" && !printed.has(event.record.run))
      await end(caisson, container, event.record, flags, printer);
  }
}

/** Prints the end of a followed run; with its console, if that was not printed as it came. */
async function end(
  caisson: Caisson,
  container: string,
  record: Omit<RunRecord, "console" | "input">,
  flags: LogsFlags,
  printer: LogPrinter,
): Promise<void> {
  if (!isSelective(flags)) return printer.end(record);
  if (!isSelected(record, flags)) return;
  const lines = await caisson.runs.console(container, record.run);
  const texts = [JSON.stringify(record.error), record.task ?? "", ...lines.map(({ text }) => text)];
  const wanted = flags.q?.toLowerCase() ?? "";
  if (!texts.some((text) => text.toLowerCase().includes(wanted))) return;
  for (const line of lines) printer.line(record.run, line, record);
  printer.end(record);
}

function isSelective({ task, status, failed, q }: LogsFlags): boolean {
  return task !== undefined || status !== undefined || failed === true || q !== undefined;
}

function isSelected({ task, status }: Omit<RunRecord, "console" | "input">, flags: LogsFlags): boolean {
  const statuses = flags.status ?? (flags.failed ? FAILED : null);
  return (flags.task ?? task) === task && (statuses === null || statuses.split(",").includes(status));
}

/** Returns the latest runs with their consoles, the newest last. */
async function latest(caisson: Caisson, container: string, flags: LogsFlags): Promise<RunRecord[]> {
  const status = flags.status ?? (flags.failed ? FAILED : undefined);
  const ids: string[] = [];
  for await (const { run } of caisson.runs.list({
    ...selectionOf({ ...flags, status: status as string }),
    container,
  })) {
    ids.push(run);
    if (ids.length === flags.limit) break;
  }
  const records: RunRecord[] = [];
  for (let at = 0; at < ids.length; at += AT_A_TIME) {
    const some = await Promise.all(ids.slice(at, at + AT_A_TIME).map((run) => recordOf(caisson, container, run)));
    records.push(...some.filter((record) => record !== null));
  }
  return records.toReversed();
}

/** Returns null for a run that is not on record any more. */
async function recordOf(caisson: Caisson, container: string, run: string): Promise<RunRecord | null> {
  try {
    return await caisson.runs.get(container, run);
  } catch (error) {
    if (error instanceof CaissonError && error.status === 404) return null;
    throw error;
  }
}

function print(record: RunRecord, printer: LogPrinter): void {
  for (const line of record.console ?? []) printer.line(record.run, line, record);
  printer.end(record);
}
