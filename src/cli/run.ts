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

/** Where the service listens, and where its administrative token is. */
const PLACE = ["host", "port", "data", "tlsCert", "tlsKey", "trustProxy", "insecureHttp"] as const;
const EXITS_HELP = `
Exit codes: 0 the code came to a result; 1 it failed, or answered with a status other than 2xx; 2 what was given is wrong: a
flag, the file, the code's syntax, the token; 3 a limit is used up; 4 the service failed, or was not reached.`;

export function runCommand(): Command {
  const command = new Command("run")
    .description(
      "run a file's code on the service that listens where these settings say, and print the result; the token is that of " +
        "CAISSON_TOKEN, or the administrative one of the data folder",
    )
    .argument("<file>", "JavaScript or TypeScript; - is what comes on stdin")
    .argument("[flags...]", "after --, flags of your own for esbuild")
    .option("--container <name>", "where it runs", "demo")
    .option("--input <json>", "data for the code, which finds it in context.body")
    .option("--query <name=value>", "for the code, which finds it in context.query; may be repeated", gather)
    .option("--bundle", "make one file of it and what it imports, by its project's esbuild; it has to export its code")
    .option("--esbuild <program>", "bundle it by this esbuild")
    .option("--url <url>", "a service elsewhere, such as https://caisson.example; needs CAISSON_TOKEN")
    .addHelpText("after", EXITS_HELP);
  addSettings(command, PLACE);
  // Commander's own faults are those of who gave the flags.
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
  return showAnswer(response);
}

function unreachedAt(url: string, error: unknown): Error {
  return new Error(`no caisson answers at ${url}: ${(error as Error).message}`, { cause: error });
}
