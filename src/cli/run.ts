import { Command } from "commander";

import { CaissonError } from "../../client/src/index.ts";
import { exitOf, EXITS, UsageError } from "./exits.ts";
import { errorLines } from "./fail.ts";
import { gather } from "./gather.ts";
import { say } from "./print/say.ts";
import { name, type Remote, remote } from "./remote.ts";
import { execute } from "./run/execute.ts";
import { executeStreaming } from "./run/stream.ts";
import { readSubmission, type RunFlags } from "./run/submission.ts";
import { changeOf, contentsOf } from "./run/watch.ts";
import { whileBuilding } from "./run/while-building.ts";
import { readProjectFile } from "./target/project-file.ts";

export function runCommand(): Command {
  const command = new Command("run")
    .description(
      "run a file's code, or a deployed task, and print its result to stdout; the lines of its console come on stderr",
    )
    .argument("[file]", "JavaScript or TypeScript; - reads stdin")
    .argument("[flags...]", "flags for esbuild, after --")
    .option("--container <name>", "the container of the run; default: that of the caisson.json here, or demo", name)
    .option("--task <name>", "run this deployed task instead of a file", name)
    .option("--input <json>", "data for the code, in context.body; @file reads a file, and @- stdin")
    .option("--query <name=value>", "for the code, in context.query; can be repeated", gather)
    .option("--timeout <duration>", "the longest that the run may take, such as 5s")
    .option(
      "--package <name>",
      "an npm package that the code imports, such as zod@4; can be repeated; default: the packages of the caisson.json here",
      gather,
    )
    .option("--file <name>", "the name of the code in positions; default: the file")
    .option("--watch", "run again when the file, or a file that it imports, changes")
    .option("--stream", "print the result as it comes, of any size; without the console")
    .option(
      "--bundle",
      "bundle the file with its imports, by the esbuild of its project; the file must export its code",
    )
    .option("--esbuild <program>", "bundle with this esbuild");
  const examples = [
    "run task.ts",
    `run task.ts --input '{"name": "you"}' --query a=6 --container acme`,
    "run task.ts --package zod@4",
    "run --task hook --container acme",
    "run src/index.ts --bundle --watch -- --define:DEBUG=true",
  ];
  return remote<RunFlags>(command, examples, run);
}

async function run(call: Remote<RunFlags>, file?: string, esbuildFlags?: unknown): Promise<void> {
  const { flags } = call;
  if (/^\s*[[{"]/.test((flags as { data?: string }).data ?? ""))
    throw new UsageError("--data is the data folder of the service; did you mean --input?");
  const container = flags.container ?? containerOfProject() ?? "demo";
  const words = (esbuildFlags ?? []) as readonly string[];
  if (flags.stream && call.json) throw new UsageError("--stream and --json exclude each other: a stream has no record");
  if (flags.watch) return watch(call, container, file, words);
  try {
    process.exitCode = await runOnce(call, container, await readSubmission(file, flags, words));
  } catch (error) {
    throw flags.task === undefined ? error : inContainer(error, container);
  }
}

/** Names the container of a task that does not exist: the user may not have named it. */
function inContainer(error: unknown, container: string): unknown {
  if (!(error instanceof CaissonError) || error.code !== "not_found") return error;
  const { code, hint, status } = error;
  const detail = `the container ${container} has no task with this name; --container names another container`;
  return new CaissonError({ code, detail, hint, status, cause: error });
}

function runOnce(
  call: Remote<RunFlags>,
  container: string,
  submission: Awaited<ReturnType<typeof readSubmission>>,
  signal?: AbortSignal,
): Promise<number> {
  return whileBuilding(() => {
    if (call.flags.stream) return executeStreaming(call.target, container, submission, signal);
    return execute(call.caisson, container, submission, call.json, signal);
  }, signal);
}

/** Runs the file again and again. A change cancels the run in flight. Ctrl-C ends. */
async function watch(
  call: Remote<RunFlags>,
  container: string,
  file: string | undefined,
  words: readonly string[],
): Promise<never> {
  if (file === undefined || file === "-" || call.flags.task !== undefined) throw new UsageError("--watch needs a file");
  let inputs: readonly string[] = [file];
  for (;;) {
    const cancel = new AbortController();
    const seen = await contentsOf(inputs);
    const submission = await readSubmission(file, call.flags, words).catch(report);
    if (submission) inputs = submission.inputs;
    const changed = changeOf(inputs, seen);
    const running = submission && runOnce(call, container, submission, cancel.signal).then(sayEnd, report);
    const note = `watching ${inputs.length === 1 ? file : `${inputs.length} files`}; Ctrl-C ends`;
    const ended = Promise.resolve(running).then(() => (cancel.signal.aborted ? undefined : say(note)));
    await changed;
    cancel.abort();
    await ended;
  }
}

function sayEnd(exitCode: number): void {
  if (exitCode !== EXITS.ok) say(`exit code ${exitCode}`);
}

/** Reports a failure after which the watch continues: the file is corrected, and a service that is away comes back. */
function report(error: unknown): null {
  if (!(error instanceof CaissonError && error.code === "aborted"))
    say(...errorLines(error), `exit code ${exitOf(error)}`);
  return null;
}

function containerOfProject(): string | null {
  const container = readProjectFile(".")?.["container"];
  return typeof container === "string" && container !== "" ? container : null;
}
