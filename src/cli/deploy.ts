import { Command } from "commander";

import type { Caisson } from "../../client/src/index.ts";
import { apply, type Applied } from "./deploy/apply.ts";
import { check } from "./deploy/check.ts";
import { plan, type Step } from "./deploy/plan.ts";
import { readProject, TASKS_FOLDER } from "./deploy/project.ts";
import { stepText } from "./deploy/show.ts";
import { parts, unusedFiles } from "./deploy/unused-files.ts";
import { readWanted } from "./deploy/wanted.ts";
import { printable, printableJson } from "./print/printable.ts";
import { confirm } from "./print/prompt.ts";
import { say } from "./print/say.ts";
import { countText } from "./print/texts.ts";
import { type Remote, remote } from "./remote.ts";

interface DeployFlags {
  readonly dryRun?: true;
  readonly prune?: true;
  readonly secrets?: true;
  readonly bundle?: true;
}

export function deployCommand(): Command {
  const command = new Command("deploy")
    .description(
      "put the tasks of a folder into its container: caisson.json names the container, tasks/*.ts are the tasks",
    )
    .argument("[folder]", "the folder of caisson.json", ".")
    .option("--dry-run", "print what would change, check the settings and the code, and change nothing")
    .option("--prune", "delete the tasks of the container that have no file")
    .option("--secrets", "set the secrets again, also of tasks with the same code")
    .option("--bundle", "bundle each task with its imports, by the esbuild of its project");
  const examples = ["deploy", "deploy --dry-run", "deploy ./webhooks --url https://caisson.example"];
  return remote<DeployFlags>(command, examples, deploy, { folder: ([folder]) => String(folder) });
}

async function deploy(call: Remote<DeployFlags>, folder?: string): Promise<void> {
  const { flags, json } = call;
  const project = readProject(folder!);
  const { container } = project;
  const wanted = [];
  for (const task of project.tasks) wanted.push(await readWanted(task, flags.bundle === true || project.bundle));
  for (const file of unusedFiles(project, wanted))
    say(`${file} is no task, and no task imports it: the files directly in ${TASKS_FOLDER}/ are the tasks`);
  for (const file of parts(wanted))
    say(
      `${file} is deployed as a task, and another task imports it: if it is only a part of others, move it into a folder, such as ${TASKS_FOLDER}/lib`,
    );
  const { caisson, target } = call;
  say(`comparing ${countText(wanted.length, "task")} with the container ${container} at ${target.url}`);
  const steps = await plan(caisson, container, wanted, { secrets: flags.secrets === true, environment: process.env });
  const others = await othersIn(caisson, container, steps);
  if (!json) for (const step of steps) process.stdout.write(stepText(step));
  if (!json) for (const name of others) process.stdout.write(otherText(name, flags.prune === true));
  if (!json) for (const step of steps) sayUncompared(step);
  if (flags.dryRun) {
    const checked = await check(caisson, container, steps);
    process.exitCode = checked.exitCode;
    return end(json, container, [...checked.applied, ...(flags.prune ? others.map(deleted) : [])]);
  }
  const { applied, exitCode } = await apply({ caisson, url: target.url }, container, steps);
  const gone = flags.prune ? await prune(caisson, container, others) : [];
  process.exitCode = exitCode;
  if (json) return end(json, container, [...applied, ...gone]);
  sayNext(container, applied);
}

/** The service shows only the names of secrets, so another value is not a change. */
function sayUncompared({ wanted: { name, settings }, changes }: Step): void {
  if (settings.secrets.length === 0 || changes.includes("secrets")) return;
  say(`${name}: the values of the secrets ${settings.secrets.join(", ")} are not compared; --secrets sets them again`);
}

async function othersIn({ tasks }: Caisson, container: string, steps: readonly Step[]): Promise<string[]> {
  const own = new Set(steps.map(({ wanted }) => wanted.name));
  const names: string[] = [];
  for await (const { name } of tasks.list(container)) if (!own.has(name)) names.push(name);
  return names;
}

function otherText(name: string, isPruned: boolean): string {
  const what = isPruned ? "is deleted: it has no file" : "has no file and stays; --prune deletes it";
  return `${isPruned ? "-" : "?"} ${printable(name)}  ${what}\n`;
}

async function prune({ tasks }: Caisson, container: string, names: readonly string[]): Promise<Applied[]> {
  if (names.length === 0) return [];
  if (!(await confirm(`delete ${names.map(printable).join(", ")} with all versions?`))) return [];
  for (const name of names) {
    await tasks.delete(container, name);
    say(`${name}: deleted`);
  }
  return names.map(deleted);
}

function deleted(name: string): Applied {
  return { name, action: "delete", changes: [], version: null };
}

function end(json: boolean, container: string, tasks: readonly Applied[]): void {
  if (json) process.stdout.write(`${printableJson({ container, tasks })}\n`);
  else say("nothing was changed: --dry-run");
}

function sayNext(container: string, applied: readonly Applied[]): void {
  const done = applied.filter(({ action, error }) => action !== "keep" && !error);
  const first = done[0] ?? applied.find(({ error }) => !error);
  if (done.length === 0 && applied.every(({ error }) => !error)) say("everything is deployed already");
  if (first) say(`next: caisson run --task ${first.name} --container ${container}, caisson logs ${container} -f`);
}
