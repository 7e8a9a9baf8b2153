import type { Command } from "commander";

import { auditCommand } from "./audit.ts";
import { backupCommand } from "./backup.ts";
import { containersCommand } from "./containers.ts";
import { deployCommand } from "./deploy.ts";
import { doctorCommand } from "./doctor.ts";
import { healthCommand } from "./health.ts";
import { initCommand } from "./init.ts";
import { keysCommand } from "./keys.ts";
import { limitsCommand } from "./limits.ts";
import { loginCommand } from "./login.ts";
import { logoutCommand } from "./logout.ts";
import { logsCommand } from "./logs.ts";
import { mcpCommand } from "./mcp.ts";
import { packagesCommand } from "./packages.ts";
import { programOf, THIS_MACHINE } from "./program-of.ts";
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
  [THIS_MACHINE]: [serveCommand, doctorCommand, keysCommand, backupCommand, restoreCommand],
};

/** Creates the command line. */
export function program(): Command {
  return programOf(GROUPS);
}
