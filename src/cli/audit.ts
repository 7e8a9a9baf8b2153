import { Command } from "commander";

import type { AuditPage, Caisson } from "../../client/src/index.ts";
import { readPage } from "./pages.ts";
import { table } from "./print/table.ts";
import { timeText } from "./print/texts.ts";
import { count, remote } from "./remote.ts";
import { timeOf } from "./usage.ts";

type Entry = AuditPage["entries"][number];
type Action = NonNullable<Parameters<Caisson["audit"]>[0]>["action"];

interface AuditFlags {
  readonly since?: string;
  readonly until?: string;
  readonly action?: string;
  readonly by?: string;
  readonly limit: number;
}

export function auditCommand(): Command {
  const command = new Command("audit")
    .description("list the changes of tokens, tasks, containers, limits and keys, the newest first")
    .option("--since <time>", "the beginning: a date, a time, or a duration before now such as 7d")
    .option("--until <time>", "the end, in the same forms")
    .option("--action <action>", 'only this action, such as "token issued"')
    .option("--by <jti>", "only changes by this token")
    .option("--limit <count>", "the most entries", count, 50);
  const examples = ["audit", 'audit --since 7d --action "token issued"', "audit --json"];
  return remote<AuditFlags>(command, examples, async ({ caisson, flags, print }) => {
    const { since, until, action, by, limit } = flags;
    const query = {
      ...(since && { since: timeOf("--since", since) }),
      ...(until && { until: timeOf("--until", until) }),
      ...{ action: action as Action, by, limit },
    };
    const entries = await readPage(caisson.audit(query), limit);
    print(entries, () => auditText(entries));
  });
}

function auditText(entries: readonly Entry[]): string {
  const rows = entries.map(({ at, action, by, details }) => {
    const what = Object.entries(details).map(([member, value]) => `${member} ${textOf(value)}`);
    return [timeText(at), action, [...what, ...(by === null ? [] : [`by ${by}`])].join(", ")];
  });
  return table([{ head: "time" }, { head: "action" }, { head: "details" }], rows);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
