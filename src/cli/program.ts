import { Command } from "commander";

import { VERSION } from "../http/headers.ts";
import { backupCommand } from "./backup.ts";
import { containerCommand } from "./container.ts";
import { doctorCommand } from "./doctor.ts";
import { fail } from "./fail.ts";
import { healthCommand } from "./health.ts";
import { keysCommand } from "./keys.ts";
import { limitsCommand } from "./limits.ts";
import { refuseFlagsOfNpm } from "./npm-flags.ts";
import { restoreCommand } from "./restore.ts";
import { runCommand } from "./run.ts";
import { serveCommand } from "./serve.ts";
import { tokenCommand } from "./token.ts";

/** Creates the command line. Each command has its own file. */
export function program(): Command {
  try {
    refuseFlagsOfNpm(process.env);
  } catch (error) {
    fail(error);
  }
  return new Command("caisson")
    .description(
      "Runs JavaScript and TypeScript that you do not trust, over HTTP, in isolated and throttled containers.",
    )
    .version(VERSION)
    .addCommand(serveCommand())
    .addCommand(runCommand())
    .addCommand(tokenCommand())
    .addCommand(keysCommand())
    .addCommand(limitsCommand())
    .addCommand(containerCommand())
    .addCommand(backupCommand())
    .addCommand(restoreCommand())
    .addCommand(doctorCommand())
    .addCommand(healthCommand());
}
