import { Command } from "commander";

import type { ContainerPage, Policy } from "../../client/src/index.ts";
import { gather } from "./gather.ts";
import { readPage } from "./pages.ts";
import { say } from "./print/say.ts";
import { fields, table } from "./print/table.ts";
import { labelsText, limitsText, timeText } from "./print/texts.ts";
import { count, name, remote } from "./remote.ts";

type Listed = ContainerPage["containers"][number];

export function containersCommand(): Command {
  return new Command("containers")
    .alias("container")
    .description("list, show, suspend, resume and restart containers")
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(suspendCommand())
    .addCommand(resumeCommand())
    .addCommand(restartCommand())
    .showHelpAfterError("The commands are list, show, suspend, resume and restart.");
}

function listCommand(): Command {
  const command = new Command("list")
    .description("list containers with the runs of the last day, the runs in flight, and their limits")
    .option("--label <name[=value]>", "only containers with this label; can be repeated", gather)
    .option("--limit <count>", "the most entries", count, 100);
  const examples = ["containers list", "containers list --label team=billing --json"];
  return remote<{ label?: string[]; limit: number }>(command, examples, async ({ caisson, flags, print }) => {
    const entries = await readPage(caisson.containers.list({ label: flags.label, limit: flags.limit }), flags.limit);
    print(entries, () => listText(entries));
  });
}

function listText(entries: readonly Listed[]): string {
  const columns = [
    { head: "container" },
    { head: "state" },
    { head: "runs today", align: "right" },
    { head: "in flight", align: "right" },
    { head: "limits" },
  ] as const;
  const rows = entries.map(({ container, suspended, used, running, policy }) => [
    container,
    suspended ? "suspended" : "ok",
    String(used.day),
    String(running),
    limitsText(policy.limits),
  ]);
  return table(columns, rows);
}

function showCommand(): Command {
  const command = containerVerb("show", "print the limits, labels, description and suspension of a container");
  return remote(command, ["containers show acme"], async ({ caisson, print }, container) => {
    const policy = await caisson.containers.get(container);
    print(policy, () => policyText(container, policy));
  });
}

function suspendCommand(): Command {
  const command = containerVerb("suspend", "answer the runs of a container with 403 from now on").option(
    "--now",
    "end its runs in flight",
  );
  const examples = ["containers suspend acme", "containers suspend acme --now"];
  return remote<{ now?: true }>(command, examples, async ({ caisson, flags, print, json }, container) => {
    const policy = await caisson.containers.suspend(container, { now: flags.now === true });
    print(policy, () => policyText(container, policy));
    if (!json) say(`next: caisson containers resume ${container}`);
  });
}

function resumeCommand(): Command {
  const command = containerVerb("resume", "let a container take runs again");
  return remote(command, ["containers resume acme"], async ({ caisson, print }, container) => {
    const policy = await caisson.containers.resume(container);
    print(policy, () => policyText(container, policy));
  });
}

function restartCommand(): Command {
  const command = containerVerb("restart", "replace the guests of a container").option(
    "--now",
    "end its runs in flight; otherwise they finish",
  );
  const examples = ["containers restart acme", "containers restart acme --now"];
  return remote<{ now?: true }>(command, examples, async ({ caisson, flags, print }, container) => {
    const answer = await caisson.containers.restart(container, { now: flags.now === true });
    print(answer, () => fields([["restarted", container]]));
  });
}

function containerVerb(verb: string, description: string): Command {
  return new Command(verb)
    .description(description)
    .argument("<container>", "the container", name)
    .showHelpAfterError(`The form is: caisson containers ${verb} acme`);
}

function policyText(container: string, { limits, labels, description, suspended }: Policy): string {
  return fields([
    ["container", container],
    ["limits", limitsText(limits)],
    ["labels", labelsText(labels)],
    ["description", description],
    ["suspended", suspended ? `since ${timeText(suspended.at)}, by ${suspended.by}` : "no"],
  ]);
}
