import { existsSync } from "node:fs";
import path from "node:path";

import { Command } from "commander";

import { lockDataFolder } from "../data-lock.ts";
import type { Salvage } from "../limits/stores/embedded/repair.ts";
import { enterAsOwner } from "./as-owner.ts";
import { addExamples } from "./examples.ts";
import { fail } from "./fail.ts";
import { addSettings, settingsOf } from "./settings.ts";

/** Repairs damaged counts, which stop the start of a service. */
export function repairCommand(): Command {
  const command = new Command("repair")
    .description("report what can be read of damaged counts in the data folder, which no service may use meanwhile")
    .option("--yes", "continue with the readable counts, and keep the damaged files");
  addExamples(command, ["limits repair --data ./data", "limits repair --data ./data --yes"]);
  addSettings(command, ["data"]);
  return command.action(async () => {
    try {
      const data = path.resolve(settingsOf(command).data);
      if (!existsSync(path.join(data, "limits"))) throw new Error(`there are no counts in the data folder ${data}`);
      const { salvage } = await import("../limits/stores/embedded/repair.ts");
      const lock = enterAsOwner(data, (createFile) => lockDataFolder(".", data, createFile));
      const salvaged = salvage("limits");
      process.stdout.write(describe(salvaged));
      if (salvaged.losses.length > 0) {
        process.exitCode = await rewrite(salvaged, command.opts<{ yes?: true }>().yes ?? false);
      }
      lock.release();
    } catch (error) {
      fail(error);
    }
  });
}

async function rewrite(salvaged: Salvage, confirmed: boolean): Promise<number> {
  if (!confirmed) {
    process.stdout.write("nothing was changed; with --yes the service starts without the lost counts\n");
    return 1;
  }
  const backup = await salvaged.rewrite();
  process.stdout.write(`repaired; the damaged files are in ${backup}\n`);
  return 0;
}

function describe({ losses, keys }: Salvage): string {
  const lines = losses.map(({ file, at, bytes, what }) => {
    return `${path.resolve(file)}: ${bytes > 0 ? `${bytes} bytes from byte ${at} on cannot be read; ` : ""}lost: ${what}`;
  });
  const rest = losses.length > 0 ? "readable" : "nothing is damaged";
  return [...lines, `${rest}: the counts of ${keys} keys`, ""].join("\n");
}
