import { Command } from "commander";

import { askHealth } from "../doctor/ask.ts";
import { fail } from "./fail.ts";
import { addSettings, settingsOf } from "./settings.ts";

/** For monitors without an HTTP client, such as a container engine. */
export function healthCommand(): Command {
  const command = new Command("health").description(
    "ask the service at the address of these settings: exit code 0 if it accepts runs",
  );
  addSettings(command, ["host", "port", "tlsCert", "tlsKey", "trustProxy", "insecureHttp"]);
  return command.action(async () => {
    try {
      const config = settingsOf(command);
      const health = await askHealth(config);
      if (!health) throw new Error(`no caisson answers at port ${config.port} of ${config.host}`);
      const { status, version, isolation } = health;
      process.stdout.write(`${status}: caisson ${version}, isolation ${isolation}\n`);
      process.exitCode = status === "ok" ? 0 : 1;
    } catch (error) {
      fail(error);
    }
  });
}
