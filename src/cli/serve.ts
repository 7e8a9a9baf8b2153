import { setFlagsFromString } from "node:v8";

import { Command } from "commander";

import { type Config, SETTINGS } from "../config.ts";
import { VERSION } from "../http/headers.ts";
import type { Service } from "../service.ts";
import { fail } from "./fail.ts";
import { load } from "./load.ts";
import { addSettings, settingsOf } from "./settings.ts";

/**
 * V8 collects the whole heap when it has grown to some twice what is alive, and counts the buffers in it that sockets are
 * read into. Some 25 MiB are alive here, so a few large results a second made it collect one and a half times a second, for a
 * tenth of a second of processor time each, most of it in threads that hold guests up. Up to four times, it is a fifth of that.
 */
const HEAP_GROWTH = "--heap-growing-percent=300";

export function serveCommand(): Command {
  const command = new Command("serve").description("start the service");
  addSettings(command, Object.keys(SETTINGS) as (keyof Config)[]);
  return command.action(async () => {
    try {
      const config = settingsOf(command);
      const { startService } = await load(import("../service.ts"));
      // Not before: V8 takes no compiled module that was kept under other flags.
      setFlagsFromString(HEAP_GROWTH);
      const service = await startService(config);
      process.stdout.write(banner(service));
      stopOnSignal(service);
      void stopWhenLost(service);
    } catch (error) {
      fail(error);
    }
  });
}

const NO_WALL = [
  "isolation: none",
  "*".repeat(100),
  "*  WARNING: THERE IS NO WALL. Tasks can read this machine, reach its network and attack each other.".padEnd(99) +
    "*",
  "*  For development only: run no code here that you have not written.".padEnd(99) + "*",
  "*".repeat(100),
];

function banner({ url, isolation, adminTokenFile }: Service): string {
  const { level, mechanisms, fallbackReason, resources } = isolation;
  const file = quote(adminTokenFile);
  const instead = fallbackReason === null ? [] : [`  instead of ${fallbackReason}`];
  return [
    `caisson ${VERSION} serves at ${url}`,
    ...(level === "none"
      ? NO_WALL
      : [`isolation: ${level} (${mechanisms}), attacked from inside and held`, ...instead]),
    `resources: ${resources}`,
    `administrative token: ${adminTokenFile}`,
    "try:",
    `curl -sS -H "Authorization: Bearer $(cat ${file})" --data '6 * 7' ${url}/api/run/demo`,
    "",
  ].join("\n");
}

/** For a POSIX shell, also within double quotes of a `$(…)`. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The first signal lets runs end, the second does not. */
function stopOnSignal(service: Service): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(1);
    stopping = true;
    process.stderr.write(`caisson: ${signal}: no new runs; those in flight have 30 s\n`);
    service.stop().then(
      () => process.exit(0),
      (error: unknown) => fail(error),
    );
  };
  process.on("SIGTERM", stop).on("SIGINT", stop);
}

/** Without its launcher it could only turn runs away; whoever started it may start it again. */
async function stopWhenLost(service: Service): Promise<void> {
  const error = await service.lost;
  process.stderr.write(`caisson: ${error.message}; the service stops\n`);
  await service.stop();
  process.exit(1);
}
