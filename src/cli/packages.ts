import { Command } from "commander";

import type { BuiltPackages, Packages, PermittedPackages } from "../../client/src/index.ts";
import { misspeltPermit, policyMeant } from "../package-names.ts";
import { UsageError } from "./exits.ts";
import { gather } from "./gather.ts";
import { entriesOf, packagesOf } from "./package-flags.ts";
import { say } from "./print/say.ts";
import { fields, table } from "./print/table.ts";
import { bytesText, timeText } from "./print/texts.ts";
import { remote } from "./remote.ts";

export function packagesCommand(): Command {
  return new Command("packages")
    .alias("package")
    .description("list, permit, forbid and build the npm packages that code imports")
    .addCommand(listCommand())
    .addCommand(addCommand())
    .addCommand(removeCommand())
    .addCommand(warmCommand())
    .showHelpAfterError("The commands are list, add, remove and warm.");
}

function listCommand(): Command {
  const command = new Command("list").description(
    "list the packages that code may import, the sets that are built, and the builds under way",
  );
  return remote(command, ["packages list", "packages list --json"], async ({ caisson, print }) => {
    const list = await caisson.packages.list();
    print(list, () => listText(list));
  });
}

function listText(list: Packages): string {
  const { packages, bytes, maxBytes, builds } = list;
  const rows = packages.map((each) => [
    each.lock.slice(0, 12),
    String(each.count),
    bytesText(each.bytes),
    timeText(each.usedAt),
    Object.entries(each.versions)
      .map(([name, version]) => `${name}@${version}`)
      .join(", "),
  ]);
  const columns = [
    { head: "lock" },
    { head: "packages", align: "right" },
    { head: "size", align: "right" },
    { head: "used" },
    { head: "imports" },
  ] as const;
  const built = rows.length === 0 ? "no packages are built\n" : table(columns, rows);
  return `${policyText(list)}\n${buildsText(builds)}${built}\n${fields([["size", `${bytesText(bytes)} of ${bytesText(maxBytes)}`]])}`;
}

function buildsText(builds: Packages["builds"]): string {
  if (builds.length === 0) return "";
  const rows = builds.map(({ state, orderedAt, packages }) => [
    state,
    timeText(orderedAt),
    Object.entries(packages)
      .map(([name, range]) => `${name}@${range}`)
      .join(", "),
  ]);
  return `${table([{ head: "state" }, { head: "since" }, { head: "imports" }], rows)}\n`;
}

function policyText({ npm, allow }: PermittedPackages): string {
  const listed = allow.map((each) => each.package).join(", ");
  const texts = {
    none: "no packages (--npm none)",
    any: "all packages (--npm any)",
    listed: allow.length === 0 ? "no packages: the list is empty" : listed,
  };
  return fields([["code may import", texts[npm]]]);
}

function addCommand(): Command {
  const command = new Command("add")
    .description("permit packages, in addition to those of --npm-allow, until they are removed")
    .argument("<package...>", "such as zod, lodash@4 or @acme/*");
  const examples = ["packages add zod lodash@4", "packages add '@acme/*'"];
  return remote(command, examples, async ({ caisson, print, json }, ...texts) => {
    let list: PermittedPackages | null = null;
    const entries = entriesOf(wordsOf(texts));
    const policy = entries.find((entry) => policyMeant(entry) !== null);
    if (policy !== undefined)
      throw new UsageError(
        `${policy} is no package: did you mean the setting --npm ${policyMeant(policy)} of the service? ${policy}@* is the package of this name`,
      );
    for (const entry of entries) list = await caisson.packages.allow(entry);
    print(list!, () => policyText(list!));
    for (const entry of entries) {
      const question = misspeltPermit(entry);
      if (question !== null && !json) say(`${question} caisson packages remove ${entry} removes this entry`);
    }
    if (list!.npm !== "listed" && !json) say(`the list is not in use: the service has --npm ${list!.npm}`);
  });
}

function removeCommand(): Command {
  const command = new Command("remove")
    .description("forbid packages that were added. Runs that import them are refused from now on")
    .argument("<package...>", "as they were added");
  return remote(command, ["packages remove lodash@4"], async ({ caisson, print }, ...texts) => {
    let list: PermittedPackages | null = null;
    for (const entry of entriesOf(wordsOf(texts))) list = await caisson.packages.disallow(entry);
    print(list!, () => policyText(list!));
  });
}

function warmCommand(): Command {
  const command = new Command("warm")
    .description("build packages together before the first run that imports them")
    .argument("<package...>", "what the code names in packages, such as zod@4")
    .option("--entry <module>", "a module that the code imports, such as zod/mini; can be repeated", gather);
  const examples = ["packages warm zod@^4 lodash@4", "packages warm zod@^4 --entry zod/mini"];
  return remote<{ entry?: string[] }>(command, examples, async ({ caisson, flags, print }, ...texts) => {
    const packages = packagesOf(wordsOf(texts), "packages warm")!;
    const built = await caisson.packages.warm(packages, { entries: flags.entry });
    print(built, () => builtText(built));
  });
}

function builtText({ lock, bytes }: BuiltPackages): string {
  return fields([
    ["imports", Object.values(lock.roots).join(", ")],
    ["packages", String(lock.packages.length)],
    ["size", bytesText(bytes)],
    ["lock", lock.key],
  ]);
}

/** A variadic argument is one list. */
function wordsOf(texts: readonly (string | readonly string[])[]): string[] {
  return texts.flat();
}
