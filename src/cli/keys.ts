import { Command } from "commander";

import type { Config } from "../config.ts";
import { fail } from "./fail.ts";
import type * as KeyVerbs from "./key-verbs.ts";
import { load } from "./load.ts";
import { addSettings, settingsOf } from "./settings.ts";

/** Where the keys are, and where the service listens that is waited for. */
const PLACE = ["data", "keys", "host", "port", "tlsCert", "tlsKey", "trustProxy", "insecureHttp"] as const;

export function keysCommand(): Command {
  return new Command("keys")
    .description("the keys that tokens are signed with; a service takes a change of their file without a restart")
    .addCommand(listCommand())
    .addCommand(makeCommand())
    .addCommand(rotateCommand())
    .addCommand(revokeCommand());
}

function listCommand(): Command {
  const command = new Command("list")
    .description("what each key is for: the newest whose time has come signs, all verify")
    .option("--json", "print an array that programs can read");
  return verb(command, async ({ list }, config) => {
    const keys = await list(config);
    process.stdout.write(command.opts<{ json?: true }>().json ? `${JSON.stringify(keys, null, 2)}\n` : lines(keys));
  });
}

function makeCommand(): Command {
  const command = new Command("make").description(
    "make a first key where the file is missing, and print its name; tokens of a lost file end with this",
  );
  return verb(command, ({ make }, config) => make(config));
}

function rotateCommand(): Command {
  const command = new Command("rotate")
    .description("make a key that signs from now on, and print its name; what older ones have signed stays valid")
    .option(
      "--after <duration>",
      "when it begins to sign, such as 10m: until then other nodes get the file, and whoever checks tokens the public key",
    );
  return verb(command, ({ rotate }, config) => rotate(config, command.opts<{ after?: string }>().after));
}

function revokeCommand(): Command {
  const command = new Command("revoke")
    .description(
      "take a key away, which ends every token that was signed with it and all below those, at once and for good",
    )
    .argument("<kid>", "the name of the key, as keys list gives it; behind -- where it begins with a hyphen");
  return verb(command, ({ revoke }, config, kid) => revoke(config, kid!));
}

function verb(
  command: Command,
  work: (verbs: typeof KeyVerbs, config: Config, word?: string) => Promise<void>,
): Command {
  addSettings(command, PLACE);
  return command.action(async (...given: unknown[]) => {
    try {
      const config = settingsOf(command);
      const verbs = await load(import("./key-verbs.ts"));
      await work(verbs, config, typeof given[0] === "string" ? given[0] : undefined);
    } catch (error) {
      fail(error);
    }
  });
}

function lines(keys: readonly KeyVerbs.Listed[]): string {
  const rows = keys.map(({ kid, state, made, signsFrom }) => {
    const what = {
      waits: `signs from ${signsFrom} on`,
      signs: "signs",
      verifies: "verifies",
      ended: "ended: nothing that it signed is valid any more",
    }[state];
    return `${kid}  ${(made ?? "").padEnd("2026-01-01T00:00:00Z".length)}  ${what}\n`;
  });
  return rows.join("");
}
