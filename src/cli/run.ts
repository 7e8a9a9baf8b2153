import { once } from "node:events";
import type { ClientRequest, IncomingMessage } from "node:http";

import { Command } from "commander";

import type { Config } from "../config.ts";
import { fail } from "./fail.ts";
import { gather } from "./gather.ts";
import { unreached } from "./reach.ts";
import { readCode } from "./run/code.ts";
import { EXITS, type RunFlags } from "./run/flags.ts";
import { sendRun } from "./run/send.ts";
import { showAnswer } from "./run/show.ts";
import { addSettings, settingsOf } from "./settings.ts";

/** The settings for the address of the service and for its administrative token. */
const SERVICE_SETTINGS = ["host", "port", "data", "tlsCert", "tlsKey", "trustProxy", "insecureHttp"] as const;
const EXITS_HELP = `
Exit codes: 0 the code gave a result; 1 the task failed, or answered with a status other than 2xx; 2 invalid input: a flag,
the file, the syntax of the code, the token; 3 rate limited; 4 service error, or the service was not reached.`;

export function runCommand(): Command {
  const command = new Command("run")
    .description(
      "run a file's code on the service of these settings, and print the result; the token is in CAISSON_TOKEN, or is the " +
        "administrative token of the data folder",
    )
    .argument("<file>", "JavaScript or TypeScript; - reads stdin")
    .argument("[flags...]", "flags for esbuild, after --")
    .option("--container <name>", "the container of the run", "demo")
    .option("--input <json>", "data for the code, in context.body")
    .option("--query <name=value>", "for the code, in context.query; can be repeated", gather)
    .option(
      "--bundle",
      "bundle the file with its imports, by the esbuild of its project; the file must export its code",
    )
    .option("--esbuild <program>", "bundle with this esbuild")
    .option("--url <url>", "a service elsewhere, such as https://caisson.example; needs CAISSON_TOKEN")
    .addHelpText("after", EXITS_HELP);
  addSettings(command, SERVICE_SETTINGS);
  // Commander's own errors are faults of the caller.
  command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXITS.caller));
  return command.action(async (file: string, esbuildFlags: readonly string[]) => {
    process.exitCode = await run(command, file, esbuildFlags);
  });
}

async function run(command: Command, file: string, esbuildFlags: readonly string[]): Promise<number> {
  const flags = command.opts<RunFlags>();
  let config: Config;
  let request: ClientRequest;
  try {
    config = settingsOf(command);
    request = sendRun(config, flags, await readCode(file, flags, esbuildFlags));
  } catch (error) {
    return fail(error, EXITS.caller);
  }
  let response: IncomingMessage;
  try {
    [response] = (await once(request, "response")) as [IncomingMessage];
  } catch (error) {
    return fail(flags.url === undefined ? unreached(config, error) : unreachedAt(flags.url, error), EXITS.service);
  }
  const isBundled = flags.bundle === true || flags.esbuild !== undefined;
  return showAnswer(response, isBundled || file === "-" ? null : file);
}

function unreachedAt(url: string, error: unknown): Error {
  return new Error(`no caisson answers at ${url}: ${(error as Error).message}`, { cause: error });
}
