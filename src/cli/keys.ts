import { Command } from "commander";

import type { Config } from "../config.ts";
import { addExamples } from "./examples.ts";
import { fail } from "./fail.ts";
import type * as KeyVerbs from "./key-verbs.ts";
import { printableJson } from "./print/printable.ts";
import { addSettings, settingsOf } from "./settings.ts";

/** The settings for the keys and for the address of the service. */
const KEY_SETTINGS = ["data", "keys", "host", "port", "tlsCert", "tlsKey", "trustProxy", "insecureHttp"] as const;

export function keysCommand(): Command {
  return new Command("keys")
    .description("manage the keys that sign tokens; a service loads a change of their file without a restart")
    .addCommand(listCommand())
    .addCommand(makeCommand())
    .addCommand(rotateCommand())
    .addCommand(revokeCommand());
}

function listCommand(): Command {
  const command = new Command("list").description(
    "list the keys and their states: the newest active key signs, all keys verify",
  );
  return verb(command, async ({ list }, config, { json }) => {
    const keys = await list(config);
    process.stdout.write(json ? `${printableJson(keys)}\n` : lines(keys));
  });
}

function makeCommand(): Command {
  const command = new Command("make").description(
    "create the first key if the file is missing, and print its name; tokens of a lost file become invalid",
  );
  return verb(command, ({ make }, config, { print }) => make(config, print));
}

function rotateCommand(): Command {
  const command = new Command("rotate")
    .description("create a key that signs from now on, and print its name; tokens of older keys stay valid")
    .option(
      "--after <duration>",
      "delay until the key signs, such as 10m, in which other nodes receive the file and verifiers the public key",
    );
  return verb(command, ({ rotate }, config, { print }) =>
    rotate(config, print, command.opts<{ after?: string }>().after),
  );
}

function revokeCommand(): Command {
  const command = new Command("revoke")
    .description(
      "remove a key; the tokens that it signed and all tokens below them become invalid, at once and permanently",
    )
    .argument("<kid>", "the name of the key, from keys list; after -- if it begins with a hyphen");
  return verb(command, ({ revoke }, config, { print }, kid) => revoke(config, print, kid!));
}

const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  list: ["keys list", "keys list --json"],
  make: ["keys make --keys /etc/caisson/keys.json"],
  rotate: ["keys rotate", "keys rotate --after 10m"],
  revoke: ["keys revoke xPgqFn56auTcuA7lJ4XiZI4db8CpmUc7oRUFUfYeuD8"],
};

function verb(
  command: Command,
  work: (verbs: typeof KeyVerbs, config: Config, output: Output, argument?: string) => Promise<void>,
): Command {
  command.option("--json", "print JSON for programs");
  addExamples(command, EXAMPLES[command.name()]!);
  addSettings(command, KEY_SETTINGS);
  return command.action(async (...args: unknown[]) => {
    try {
      const config = settingsOf(command);
      const verbs = await import("./key-verbs.ts");
      const json = command.opts<{ json?: true }>().json === true;
      await work(verbs, config, { json, print: printer(json) }, typeof args[0] === "string" ? args[0] : undefined);
    } catch (error) {
      fail(error);
    }
  });
}

interface Output {
  readonly json: boolean;
  readonly print: KeyVerbs.Print;
}

/** Prints the name of the new key, if there is one. */
function printer(json: boolean): KeyVerbs.Print {
  return (changed) => {
    if (json) process.stdout.write(`${printableJson(changed)}\n`);
    else if (changed.kid !== null) process.stdout.write(`${changed.kid}\n`);
  };
}

function lines(keys: readonly KeyVerbs.Listed[]): string {
  const rows = keys.map(({ kid, state, made, signsFrom }) => {
    const what = {
      waits: `signs from ${signsFrom} on`,
      signs: "signs",
      verifies: "verifies",
      ended: "ended: no valid token is signed with it",
    }[state];
    return `${kid}  ${(made ?? "").padEnd("2026-01-01T00:00:00Z".length)}  ${what}\n`;
  });
  return rows.join("");
}
