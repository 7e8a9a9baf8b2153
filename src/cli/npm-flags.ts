import type { Command } from "commander";

import { ConfigError } from "../config/read.ts";

/** Names of npm settings, which npm may export to every script. */
const OF_NPM: ReadonlySet<string> = new Set([
  ...["all", "config", "depth", "description", "dry_run", "json", "key", "name", "offline", "usage", "user"],
  ...["version", "yes"],
]);

/**
 * Refuses flags that npm took for itself: `npm start --port 80` starts a service without the flag, and a limit or a policy that
 * is not in force is a matter of safety.
 *
 * @throws {ConfigError} that names the flags
 */
export function refuseFlagsOfNpm(environment: Readonly<Record<string, string | undefined>>, program: Command): void {
  const script = environment["npm_lifecycle_event"];
  if (script !== "start" && script !== "caisson") return;
  const flags = [...new Set(flagsOf(program))];
  const taken = flags.filter((flag) => {
    const name = flag.replace(/^--(?:no-)?/, "").replaceAll("-", "_");
    return !OF_NPM.has(name) && environment[`npm_config_${name}`] !== undefined;
  });
  if (taken.length === 0) return;
  const command = script === "start" ? "npm start" : "npm run -s caisson";
  // npm reads a flag such as --flag letter by letter, as -f -l -a -g, of which -f is --force.
  if (taken.length === 1 && taken[0] === "--force") {
    throw new ConfigError(
      `npm has taken flags for itself, and has read a letter of one as --force; npm needs -- before the flags: ${command} -- ...`,
    );
  }
  throw new ConfigError(
    `npm has taken ${taken.join(", ")} for itself; npm needs -- before the flags: ${command} -- ${taken[0]} ...`,
  );
}

function flagsOf(command: Command): string[] {
  return [...command.options.flatMap(({ long }) => long ?? []), ...command.commands.flatMap(flagsOf)];
}
