import { Command, type CommanderError } from "commander";

import { VERSION } from "../http/headers.ts";
import { auditCommand } from "./audit.ts";
import { backupCommand } from "./backup.ts";
import { containersCommand } from "./containers.ts";
import { deployCommand } from "./deploy.ts";
import { doctorCommand } from "./doctor.ts";
import { addExamples } from "./examples.ts";
import { EXITS, EXITS_HELP } from "./exits.ts";
import { fail } from "./fail.ts";
import { healthCommand } from "./health.ts";
import { initCommand } from "./init.ts";
import { keysCommand } from "./keys.ts";
import { limitsCommand } from "./limits.ts";
import { loginCommand } from "./login.ts";
import { logoutCommand } from "./logout.ts";
import { logsCommand } from "./logs.ts";
import { mcpCommand } from "./mcp.ts";
import { meant } from "./meant.ts";
import { refuseFlagsOfNpm } from "./npm-flags.ts";
import { packagesCommand } from "./packages.ts";
import { restoreCommand } from "./restore.ts";
import { runCommand } from "./run.ts";
import { runsCommand } from "./runs.ts";
import { serveCommand } from "./serve.ts";
import { settingsCommand } from "./settings-in-force.ts";
import { systemCommand } from "./system.ts";
import { tasksCommand } from "./tasks.ts";
import { tokensCommand } from "./tokens.ts";
import { usageCommand } from "./usage.ts";
import { whoamiCommand } from "./whoami.ts";

/** The commands by the headings of the help. Each command has its own file. */
const GROUPS: Readonly<Record<string, readonly (() => Command)[]>> = {
  "Run and deploy code:": [
    runCommand,
    initCommand,
    deployCommand,
    tasksCommand,
    packagesCommand,
    logsCommand,
    runsCommand,
  ],
  "Use and manage a service:": [
    ...[loginCommand, logoutCommand, whoamiCommand, tokensCommand, containersCommand, limitsCommand],
    ...[usageCommand, auditCommand, systemCommand, settingsCommand, healthCommand, mcpCommand],
  ],
  "On the machine of the service:": [serveCommand, doctorCommand, keysCommand, backupCommand, restoreCommand],
};

/** Creates the command line. */
export function program(): Command {
  const caisson = new Command("caisson")
    .description(
      "Runs JavaScript and TypeScript that you do not trust, over HTTP, in isolated and throttled containers.",
    )
    .version(VERSION);
  addExamples(caisson, ["serve", "login --url https://caisson.example", "run task.ts", "deploy", "logs acme -f"]);
  for (const [heading, commands] of Object.entries(GROUPS)) {
    for (const command of commands) caisson.addCommand(command().helpGroup(heading));
  }
  complete(caisson);
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
