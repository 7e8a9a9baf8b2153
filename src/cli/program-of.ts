import { Command, type CommanderError } from "commander";

import { unknownVariables } from "../config/read.ts";
import { VERSION } from "../http/headers.ts";
import { addExamples } from "./examples.ts";
import { EXITS, EXITS_HELP } from "./exits.ts";
import { fail } from "./fail.ts";
import { meant } from "./meant.ts";
import { refuseFlagsOfNpm } from "./npm-flags.ts";

/** The heading of the commands that need the files of the service. */
export const THIS_MACHINE = "On the machine of the service:";

/** Creates a command line. @param groups the commands by the headings of the help */
export function programOf(groups: Readonly<Record<string, readonly (() => Command)[]>>): Command {
  const caisson = new Command("caisson")
    .description(
      "Runs JavaScript and TypeScript that you do not trust, over HTTP, in isolated and throttled containers.",
    )
    .version(VERSION);
  addExamples(caisson, ["serve", "login --url https://caisson.example", "run task.ts", "deploy", "logs acme -f"]);
  for (const [heading, commands] of Object.entries(groups)) {
    for (const command of commands) caisson.addCommand(command().helpGroup(heading));
  }
  complete(caisson);
  // Also before the faults of a command, which a misspelled variable may explain.
  caisson.hook("preAction", () => {
    for (const fault of unknownVariables(process.env)) process.stderr.write(`caisson: ${fault}\n`);
  });
  try {
    refuseFlagsOfNpm(process.env, caisson);
  } catch (error) {
    fail(error);
  }
  return caisson;
}

/** Sets what all commands have in common: the exit code of faults of the command line, and the form of their messages. */
function complete(command: Command): void {
  command
    .exitOverride(({ exitCode }: CommanderError) => process.exit(exitCode === 0 ? EXITS.ok : EXITS.input))
    .configureOutput({ outputError: (text, write) => write(meant(command, text.replace(/^error: /, "caisson: "))) })
    .addHelpText("after", `\n${EXITS_HELP}`);
  for (const each of command.commands) complete(each);
}
