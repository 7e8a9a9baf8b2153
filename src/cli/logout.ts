import { Command, Option } from "commander";

import { addExamples } from "./examples.ts";
import { UsageError } from "./exits.ts";
import { fail } from "./fail.ts";
import { printableJson } from "./print/printable.ts";
import { say } from "./print/say.ts";
import { profileOf, readProfiles, writeProfiles } from "./target/profiles.ts";

interface LogoutFlags {
  readonly profile?: string;
  readonly all?: true;
  readonly json?: true;
}

export function logoutCommand(): Command {
  const command = new Command("logout")
    .description("remove a stored profile with its token; the token itself stays valid")
    .option("--profile <name>", "the profile; default: the current one")
    .option("--all", "remove all profiles")
    .addOption(new Option("--json", "print JSON for programs"));
  addExamples(command, ["logout", "logout --profile staging", "logout --all"]);
  return command.action(() => {
    try {
      logout(command.opts<LogoutFlags>());
    } catch (error) {
      fail(error);
    }
  });
}

function logout({ profile: named, all, json }: LogoutFlags): void {
  if (all && named !== undefined) throw new UsageError("--all and --profile exclude each other");
  const stored = readProfiles();
  const names = Object.keys(stored.profiles);
  const name = named ?? stored.current;
  if (!all && name === null) {
    const others = names.length === 0 ? "" : `; choose one with --profile: ${names.join(", ")}`;
    throw new UsageError(`no profile is in use${others}`);
  }
  if (!all) profileOf(stored, name!, named === undefined ? "the stored profile" : "--profile", "; nothing was removed");
  const removed = all ? names : [name!];
  const left = Object.fromEntries(Object.entries(stored.profiles).filter(([each]) => !removed.includes(each)));
  writeProfiles({ current: removed.includes(stored.current ?? "") ? null : stored.current, profiles: left });
  if (json) return void process.stdout.write(`${printableJson({ removed })}\n`);
  say(`removed ${removed.length === 0 ? "nothing" : removed.join(", ")}; caisson tokens revoke ends a token`);
  const rest = Object.keys(left);
  if (rest.length > 0) say(`left: ${rest.join(", ")}; caisson login --profile ${rest[0]} makes it the current one`);
}
