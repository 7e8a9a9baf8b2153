import { Command } from "commander";

import { administer } from "./administer.ts";
import { fail } from "./fail.ts";
import { addSettings, settingsOf } from "./settings.ts";

/** The settings for the address of the service and for its administrative token. */
const SERVICE_SETTINGS = ["host", "port", "data", "tlsCert", "tlsKey", "trustProxy", "insecureHttp"] as const;

export function containerCommand(): Command {
  return new Command("container")
    .description("show, suspend, resume and restart a container of a running service")
    .addCommand(ask("show", "GET", "print its limits, labels, description and suspension"))
    .addCommand(
      ask("suspend", "POST", "answer its runs with 403 from now on").option("--now", "end its runs in flight"),
    )
    .addCommand(ask("resume", "POST", "let it take runs again"))
    .addCommand(ask("restart", "POST", "replace its guests").option("--now", "end its runs in flight"))
    .showHelpAfterError(
      "The commands are show, suspend, resume and restart. GET /api/containers of the service lists the containers.",
    );
}

/** @param verb the command, and the last segment of the path of a POST */
function ask(verb: string, method: "GET" | "POST", description: string): Command {
  const command = new Command(verb)
    .description(`${description}, at the service of these settings`)
    .argument("<name>", "the container")
    .showHelpAfterError(`The form is: caisson container ${verb} acme`);
  addSettings(command, SERVICE_SETTINGS);
  return command.action(async (name: string) => {
    try {
      const { now } = command.opts<{ now?: true }>();
      const path = `/api/containers/${encodeURIComponent(name)}`;
      const target = method === "GET" ? path : `${path}/${verb}${now ? "?now=true" : ""}`;
      process.stdout.write(`${JSON.stringify(await administer(settingsOf(command), method, target))}\n`);
    } catch (error) {
      fail(error);
    }
  });
}
