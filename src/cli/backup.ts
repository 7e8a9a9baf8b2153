import path from "node:path";

import { Command } from "commander";

import type { BackupSummary } from "../backup/back-up.ts";
import { ConfigError } from "../config/read.ts";
import { VERSION } from "../http/headers.ts";
import { addExamples } from "./examples.ts";
import { fail } from "./fail.ts";
import { addSettings, settingsOf } from "./settings.ts";

/** The exit code for an error of the service, and for a service that was not reached. */
const SERVICE_ERROR = 4;

interface Options {
  readonly to: string;
  readonly force?: true;
  readonly withoutRecords?: true;
}

export function backupCommand(): Command {
  const command = new Command("backup")
    .description(
      "back up the data folder of this machine, while its service runs or is stopped, into one tar with all keys",
    )
    .requiredOption("--to <file>", "the tar to write, which only its owner can read; - writes to stdout")
    .option("--force", "replace the file if it exists")
    .option("--without-records", "leave out the records of runs; the counts of runs and the audit stay");
  addExamples(command, ["backup --to /backups/caisson.tar", "backup --data /var/lib/caisson --to - > caisson.tar"]);
  command.showHelpAfterError("The form is: caisson backup --to caisson.tar");
  addSettings(command, ["data", "keys", "secretsKey"]);
  return command.action(async () => {
    try {
      const { data, keys, secretsKey } = settingsOf(command);
      const { to, force = false, withoutRecords = false } = command.opts<Options>();
      if (to === "") throw new ConfigError("--to: the name of the file is empty");
      const file = to === "-" ? null : path.resolve(to);
      const { backUp } = await import("../backup/back-up.ts");
      const summary = await backUp(
        {
          ...{ data: path.resolve(data), file, replace: force, withoutRecords, release: VERSION },
          keys: keys && path.resolve(keys),
          secretsKey: secretsKey && path.resolve(secretsKey),
        },
        (warning) => process.stderr.write(`caisson: ${warning}\n`),
      );
      (file === null ? process.stderr : process.stdout).write(describe(summary, path.resolve(data), to));
    } catch (error) {
      fail(error, error instanceof ConfigError ? 2 : SERVICE_ERROR);
    }
  });
}

function describe({ parts, bytes, hasCounts, isRunning }: BackupSummary, data: string, to: string): string {
  const from = `${isRunning ? "the running service" : "the stopped service"} of ${data}`;
  const lines = [
    `backed up ${from}: ${parts} files, ${(bytes / 2 ** 20).toFixed(1)} MiB, in ${to === "-" ? "stdout" : to}`,
  ];
  if (!hasCounts) {
    lines.push(
      "the folder has no counts: with --redis the counts, tokens, secrets, policies and named tasks are in Redis, which needs " +
        "its own backup",
    );
  }
  return `${lines.join("\n")}\n`;
}
