import { Command } from "commander";

import { type Config, SETTINGS } from "../config.ts";
import { VERSION } from "../http/headers.ts";
import { type Service, startService } from "../service.ts";
import { fail } from "./fail.ts";
import { addSettings, settingsOf } from "./settings.ts";

export function serveCommand(): Command {
  const command = new Command("serve").description("start the service");
  addSettings(command, Object.keys(SETTINGS) as (keyof Config)[]);
  return command.action(async () => {
    try {
      const service = await startService(settingsOf(command));
      process.stdout.write(banner(service));
      stopOnSignal(service);
    } catch (error) {
      fail(error);
    }
  });
}

function banner({ url, isolation, resources, adminTokenFile }: Service): string {
  const file = quote(adminTokenFile);
  return [
    `caisson ${VERSION} serves at ${url}`,
    `isolation: ${isolation}, attacked from inside and held; resources: ${resources}`,
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
