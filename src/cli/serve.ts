import { Command } from "commander";

import { type Config, SETTINGS } from "../config.ts";
import { unknownVariables } from "../config/read.ts";
import { letHeapGrow } from "../heap-growth.ts";
import { VERSION } from "../http/headers.ts";
import { releaseMemoryWhenIdle } from "../idle-memory.ts";
import type { Service } from "../service/service.ts";
import { limitYoungGeneration } from "../young-generation.ts";
import { addExamples } from "./examples.ts";
import { fail } from "./fail.ts";
import { addSettings, settingsWithOrigins } from "./settings.ts";

export function serveCommand(): Command {
  const command = new Command("serve").description("start the service");
  addExamples(command, [
    "serve",
    "serve --data /var/lib/caisson --port 8080 --container-limit minute=600",
    "serve --config settings.json",
  ]);
  addSettings(command, Object.keys(SETTINGS) as (keyof Config)[]);
  return command.action(async () => {
    try {
      const { config, origins } = settingsWithOrigins(command);
      const port = portIgnored(process.env["PORT"], config.port, origins["port"]);
      if (port !== null) process.stderr.write(`caisson: ${port}\n`);
      const { startService } = await import("../service/service.ts");
      letHeapGrow();
      limitYoungGeneration();
      const service = await startService(config, { origins, unknownVariables: unknownVariables(process.env) });
      releaseMemoryWhenIdle();
      process.stdout.write(banner(service));
      stopOnSignal(service);
      void stopWhenLost(service);
    } catch (error) {
      fail(error);
    }
  });
}

/** Returns what to write instead of the variable PORT, which many other services read, or null. */
function portIgnored(text: string | undefined, port: number, origin: unknown): string | null {
  if (origin !== undefined || text === undefined || !/^\d{1,5}$/.test(text) || Number(text) === port) return null;
  return `the variable PORT is not read; for this port, set CAISSON_PORT=${text}, or write --port ${text}`;
}

const NO_ISOLATION = [
  "isolation: none",
  "*".repeat(100),
  "*  WARNING: NO ISOLATION. Tasks can read this machine, reach its network and attack each other.".padEnd(99) + "*",
  "*  For development only: run only code that you have written.".padEnd(99) + "*",
  "*".repeat(100),
];

function banner({ url, consoleUrl, isolation, adminTokenFile }: Service): string {
  const { level, mechanisms, fallbackReason, resources } = isolation;
  const file = quote(adminTokenFile);
  const instead = fallbackReason === null ? [] : [`  instead of ${fallbackReason}`];
  return [
    `caisson ${VERSION} serves at ${url}`,
    ...(level === "none"
      ? NO_ISOLATION
      : [`isolation: ${level} (${mechanisms}), verified by attacks from inside`, ...instead]),
    `resources: ${resources}`,
    `console: ${consoleUrl}`,
    `administrative token: ${adminTokenFile}`,
    "try:",
    `curl -sS -H "Authorization: Bearer $(cat ${file})" --data '6 * 7' ${url}/api/run/demo`,
    "",
  ].join("\n");
}

/** Quotes a text for a POSIX shell, also within double quotes of a `$(…)`. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Stops the service at a signal. The first signal lets runs end, the second ends the process at once. */
function stopOnSignal(service: Service): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(1);
    stopping = true;
    process.stderr.write(`caisson: ${signal}: no new runs; runs in flight have 30 s to end\n`);
    service.stop().then(
      () => process.exit(0),
      (error: unknown) => fail(error),
    );
  };
  process.on("SIGTERM", stop).on("SIGINT", stop);
}

/** Stops a service that has lost its launcher and could only refuse runs. Its supervisor may start it again. */
async function stopWhenLost(service: Service): Promise<void> {
  const error = await service.lost;
  process.stderr.write(`caisson: ${error.message}; the service stops\n`);
  await service.stop();
  process.exit(1);
}
