import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";

import { Command } from "commander";

import { ConfigError } from "../config/read.ts";
import { makeDataFolder } from "../data-folder.ts";
import { lockDataFolder } from "../data-lock.ts";
import { enterAsOwner } from "./as-owner.ts";
import { addExamples } from "./examples.ts";
import { fail } from "./fail.ts";
import { addSettings, settingsOf } from "./settings.ts";

/** The exit code for an error of this machine, such as a full disk. */
const MACHINE_ERROR = 4;

export function restoreCommand(): Command {
  const command = new Command("restore")
    .description("restore a backup into a new or empty data folder, which no service uses")
    .requiredOption("--from <file>", "the tar of a backup; - reads stdin");
  addExamples(command, [
    "restore --from /backups/caisson.tar --data /var/lib/caisson",
    "restore --from - --data ./data < caisson.tar",
  ]);
  addSettings(command, ["data"]);
  return command.action(async () => {
    try {
      const data = path.resolve(settingsOf(command).data);
      const file = await openBackup(command.opts<{ from: string }>().from);
      const { refuseUsedFolder, restore } = await import("../backup/restore.ts");
      const lock = lockUnused(data, refuseUsedFolder);
      const { caisson, madeAt } = await restore(file);
      lock.release();
      process.stdout.write(`restored the backup of ${madeAt}, made by caisson ${caisson}, into ${data}\n`);
    } catch (error) {
      fail(error, error instanceof ConfigError ? 2 : MACHINE_ERROR);
    }
  });
}

/** Opens it before this process becomes the owner of the data folder, who may not be able to read it. */
async function openBackup(from: string): Promise<AsyncIterable<Buffer>> {
  if (from === "-") return process.stdin as AsyncIterable<Buffer>;
  try {
    const handle = await open(from, "r");
    if ((await handle.stat()).isFile()) return createReadStream("", { fd: handle }) as AsyncIterable<Buffer>;
  } catch (error) {
    throw new ConfigError(`--from: ${from} cannot be read (${(error as NodeJS.ErrnoException).code})`, {
      cause: error,
    });
  }
  throw new ConfigError(`--from: ${from} is not a file`);
}

/** Enters and locks a folder, which is created if it does not exist. @throws {ConfigError} if it is in use or not empty. */
function lockUnused(data: string, refuseUsedFolder: (name: string) => void): ReturnType<typeof lockDataFolder> {
  try {
    makeDataFolder(data);
    return enterAsOwner(data, (createFile) => {
      const lock = lockDataFolder(".", data, createFile);
      refuseUsedFolder(data);
      return lock;
    });
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError((error as Error).message, { cause: error });
  }
}
