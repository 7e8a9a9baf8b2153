import path from "node:path";

import { Command } from "commander";

import type { Task, TaskPage, TaskVersion } from "../../client/src/index.ts";
import { apply } from "./deploy/apply.ts";
import { check } from "./deploy/check.ts";
import { plan } from "./deploy/plan.ts";
import { stepText } from "./deploy/show.ts";
import { readWanted } from "./deploy/wanted.ts";
import { UsageError } from "./exits.ts";
import { gather } from "./gather.ts";
import { readPage } from "./pages.ts";
import { printableJson, printableLines } from "./print/printable.ts";
import { confirm } from "./print/prompt.ts";
import { say } from "./print/say.ts";
import { fields, table } from "./print/table.ts";
import { endText, labelsText, limitsText, timeText } from "./print/texts.ts";
import { count, name, remote } from "./remote.ts";
import { type DeployFlags, membersOf } from "./tasks/members.ts";

export function tasksCommand(): Command {
  return new Command("tasks")
    .alias("task")
    .description("list, show, deploy, roll back and delete the named tasks of a container")
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(deployCommand())
    .addCommand(versionsCommand())
    .addCommand(rollbackCommand())
    .addCommand(deleteCommand())
    .showHelpAfterError("The commands are list, show, deploy, versions, rollback and delete.");
}

function listCommand(): Command {
  const command = new Command("list")
    .description("list the tasks of a container")
    .argument("<container>", "the container", name)
    .option("--label <name[=value]>", "only tasks with this label; can be repeated", gather)
    .option("--limit <count>", "the most entries", count, 100);
  const examples = ["tasks list acme", "tasks list acme --label team=billing --json"];
  return remote<{ label?: string[]; limit: number }>(
    command,
    examples,
    async ({ caisson, flags, print }, container) => {
      const tasks = await readPage(
        caisson.tasks.list(container, { label: flags.label, limit: flags.limit }),
        flags.limit,
      );
      print(tasks, () => listText(tasks));
    },
  );
}

function listText(tasks: readonly TaskPage["tasks"][number][]): string {
  const columns = [
    { head: "task" },
    { head: "version", align: "right" },
    { head: "changed" },
    { head: "state" },
    { head: "description" },
  ] as const;
  const rows = tasks.map(
    ({ name: task, version, changedAt, public: isPublic, revoked, expired, description, labels }) => [
      task,
      String(version),
      timeText(changedAt),
      revoked ? "revoked" : expired ? "expired" : isPublic ? "public" : "ok",
      [description, labelsText(labels)].filter((text) => text !== null).join("; "),
    ],
  );
  return table(columns, rows);
}

function showCommand(): Command {
  const command = taskVerb("show", "print the settings of a task and its code").option("--code", "print only its code");
  const examples = ["tasks show acme hook", "tasks show acme hook --code > hook.ts"];
  return remote<{ code?: true }>(command, examples, async ({ caisson, flags, print }, container, task) => {
    const found = await caisson.tasks.get(container, task);
    if (!flags.code) return print(found, () => taskText(found));
    if (found.code === undefined) throw new UsageError(`the task has no stored code; it runs the code of ${found.url}`);
    // A terminal executes control characters; a file must get the same bytes.
    const isTerminal = process.stdout.isTTY;
    process.stdout.write(isTerminal ? `${printableLines(found.code).join("\n")}\n` : found.code);
  });
}

function taskText(task: Task): string {
  const { code, modules, typescript, params, limits, net } = task;
  const head = fields([
    ["task", `${task.name} in ${task.container}`],
    ["version", `${task.version} of ${timeText(task.changedAt)}, by ${task.by}`],
    ["state", task.revoked ? "revoked" : task.expired ? "expired" : null],
    ["public", task.public ? `yes; its callers see ${task.errors === "shown" ? "all" : "no"} texts of errors` : "no"],
    ["code of", task.url],
    ["language", code === undefined ? null : typescript ? "TypeScript" : "JavaScript"],
    ["modules", modules ? Object.keys(modules).join(", ") : null],
    ["packages", task.lock ? Object.values(task.lock.roots).join(", ") : null],
    ["sha256", task.sha256],
    ["timeout", task.timeout],
    ["limits", limits.token ? limitsText(limits.token) : null],
    ["network", net === null ? null : net === false ? "none" : net.join(", ")],
    ["params", Object.keys(params).length === 0 ? null : printableJson(params, 0)],
    ["fresh guests", task.fresh ? "yes" : null],
    ["records", task.record === "input" ? "keep the input" : null],
    ["labels", labelsText(task.labels)],
    ["description", task.description],
    ["expires", endText(task.exp)],
    ["token", task.jti],
  ]);
  return code === undefined ? head : `${head}\n${printableLines(code.trimEnd()).join("\n")}\n`;
}

/** The name of a file of code. */
const SOURCE = /\.[cm]?[jt]sx?$/;

function deployCommand(): Command {
  const command = new Command("deploy")
    .description("put one file into a container as a named task; caisson deploy does it for a folder")
    .argument("<container>", "the container", name)
    .argument("<file>", "JavaScript or TypeScript")
    .option("--name <task>", "the name of the task; default: the name of the file without its ending", name)
    .option("--public", "anyone may run it")
    .option("--no-public", "only tokens may run it")
    .option("--timeout <duration>", "the longest that a run may take, such as 5s")
    .option("--param <key=value>", "a readable value for its code; can be repeated; replaces all previous ones", gather)
    .option(
      "--secret <key>",
      "a secret for its code, from the environment variable of this name; can be repeated",
      gather,
    )
    .option("--net <host>", "a destination that its code may reach; can be repeated", gather)
    .option(
      "--package <name>",
      "an npm package that its code imports, such as zod@4; can be repeated; replaces all previous ones",
      gather,
    )
    .option(
      "--update <name>",
      "move this package of the task to its newest version in the range; can be repeated",
      gather,
    )
    .option("--label <name=value>", "a label; can be repeated; replaces all previous ones", gather)
    .option("--description <text>", "a text for readers")
    .option("--expires <duration>", "how long the task lives, such as 90d")
    .option("--bundle", "bundle the file with its imports, by the esbuild of its project")
    .option("--dry-run", "print what would change, check the settings and the code, and change nothing");
  const examples = [
    "tasks deploy acme hook.ts --public",
    "tasks deploy acme src/index.ts --name hook --bundle --dry-run",
  ];
  return remote<DeployFlags>(command, examples, async (call, container, file) => {
    if (SOURCE.test(container) && !SOURCE.test(file))
      throw new UsageError(
        `the container comes before the file; did you mean caisson tasks deploy ${file} ${container}?`,
      );
    const valued = call.flags.secret?.find((each) => each.includes("="))?.split("=")[0];
    if (valued !== undefined)
      throw new UsageError(
        `--secret takes the name of an environment variable, which has the value: ${valued}=... caisson tasks deploy ${container} ${file} --secret ${valued}`,
      );
    const { caisson, target, flags, json } = call;
    const task = flags.name ?? path.basename(file).replace(/\.[^.]+$/, "");
    const settings = { members: membersOf(flags), secrets: flags.secret ?? [] };
    const wanted = [await readWanted({ name: taskName(task), file: file, settings }, flags.bundle === true)];
    const steps = await plan(caisson, container, wanted, { secrets: true, environment: process.env });
    if (!json) process.stdout.write(stepText(steps[0]!));
    if (flags.dryRun) {
      const { applied, exitCode } = await check(caisson, container, steps);
      process.exitCode = exitCode;
      const { changes, error } = applied[0]!;
      if (json) process.stdout.write(`${printableJson({ changes, error })}\n`);
      return json ? undefined : say("nothing was changed: --dry-run");
    }
    const { applied, exitCode } = await apply({ caisson, url: target.url }, container, steps);
    process.exitCode = exitCode;
    if (json) process.stdout.write(`${printableJson(applied[0])}\n`);
    else if (exitCode === 0) say(`next: caisson run --task ${task} --container ${container}`);
  });
}

function versionsCommand(): Command {
  const command = taskVerb("versions", "list the last ten versions of a task, the newest first");
  return remote(command, ["tasks versions acme hook"], async ({ caisson, print, json }, container, task) => {
    const versions = await caisson.tasks.versions(container, task);
    print(versions, () => versionsText(versions));
    const earlier = versions[1];
    if (earlier && !json) say(`next: caisson tasks rollback ${container} ${task} ${earlier.version}`);
  });
}

function versionsText(versions: readonly TaskVersion[]): string {
  const columns = [
    { head: "version", align: "right" },
    { head: "changed" },
    { head: "sha256" },
    { head: "by" },
  ] as const;
  const rows = versions.map(({ version, changedAt, sha256, by }) => [
    String(version),
    timeText(changedAt),
    sha256?.slice(0, 12) ?? "-",
    by,
  ]);
  return table(columns, rows);
}

function rollbackCommand(): Command {
  const command = taskVerb("rollback", "create a new version of a task with the content of an earlier one").argument(
    "<version>",
    "the earlier version, from tasks versions",
    (text: string) => count(text.replace(/^v(?=\d)/, "")),
  );
  return remote(command, ["tasks rollback acme hook 3"], async ({ caisson, print, json }, container, task, version) => {
    const now = await caisson.tasks.rollback(container, task, Number(version));
    print(now, () =>
      fields([
        ["task", `${now.name} in ${now.container}`],
        ["version", `${now.version}, with the content of version ${version}`],
      ]),
    );
    if (!json) say(`next: caisson logs ${container} --task ${task} -f`);
  });
}

function deleteCommand(): Command {
  const command = taskVerb("delete", "delete a task with its token, its versions and its secrets").option(
    "--yes",
    "do not ask on a terminal",
  );
  const examples = ["tasks delete acme hook", "tasks delete acme hook --yes"];
  return remote<{ yes?: true }>(command, examples, async ({ caisson, flags, print }, container, task) => {
    const question = `delete the task ${task} in ${container} with all versions and secrets?`;
    if (!flags.yes && !(await confirm(question))) throw new UsageError("nothing was deleted");
    const answer = await caisson.tasks.delete(container, task);
    print(answer, () => fields([["deleted", `${task} in ${container}`]]));
  });
}

function taskVerb(verb: string, description: string): Command {
  return new Command(verb)
    .description(description)
    .argument("<container>", "the container", name)
    .argument("<task>", "the name of the task", name)
    .showHelpAfterError(`The form is: caisson tasks ${verb} acme hook${verb === "rollback" ? " 3" : ""}`);
}

/** The name of a file may be none of a task. @throws {UsageError}, because an `InvalidArgumentError` is for the parser of the flags */
function taskName(text: string): string {
  try {
    return name(text);
  } catch (error) {
    throw new UsageError(`${JSON.stringify(text)}: ${(error as Error).message} Set --name.`, { cause: error });
  }
}
