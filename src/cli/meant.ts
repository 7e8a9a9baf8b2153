import type { Command } from "commander";

/** Flags of other programs and of other commands, and the flag that does the same here. */
const FLAGS: Readonly<Record<string, string>> = {
  "--tail": "--limit",
  "--lines": "--limit",
  "-n": "--limit",
  "--from": "--since",
  "--to": "--until",
  "--body": "--input",
  "-d": "--input",
  "-c": "--container",
};
/** Windows of limits, which are no flags. */
const WINDOW = /^--(second|minute|hour|day|week|month)$/;
const CONSOLE = "the web console is at the url of the service, for a browser; or at the port of --console-port";
/** What to write instead of a command that does not exist. */
const COMMANDS: Readonly<Record<string, string>> = {
  exec: "caisson run task.ts runs code",
  start: "caisson serve starts the service",
  version: "caisson --version prints the version",
  console: CONSOLE,
  open: CONSOLE,
  ui: CONSOLE,
};

/**
 * Completes a message of commander about a flag or a command that does not exist: with what the user meant, or with the list of
 * the commands.
 */
export function meant(command: Command, text: string): string {
  const [, kind, word] = /unknown (option|command) '([^']*)'/.exec(text) ?? [];
  if (word === undefined) return text;
  if (kind === "command") return commandMeant(command, text, word);
  const instead = flagMeant(command, word);
  return instead === null ? text : `${text.split("\n")[0]}; ${instead}\n`;
}

function flagMeant(command: Command, word: string): string | null {
  const flag = word.split("=")[0]!;
  const has = (name: string): boolean => command.options.some(({ long }) => long === name);
  const same = Object.hasOwn(FLAGS, flag) ? FLAGS[flag]! : null;
  if (same !== null && has(same)) return `did you mean ${same}?`;
  const window = WINDOW.exec(flag)?.[1];
  if (window !== undefined && has("--limit") && has("--can")) return `did you mean --limit container.${window}=5?`;
  if (flag === "--container" && command.name() === "deploy") return "caisson.json names the container";
  if ((flag === "-e" || flag === "--eval") && command.name() === "run")
    return "write the code to stdin: echo 'return 1' | caisson run -";
  return null;
}

/** A guess with another first letter is seldom right: `open` is not `token`. */
function commandMeant(command: Command, text: string, word: string): string {
  const [fact, guess] = text.trimEnd().split("\n");
  const guessed = /^\(Did you mean (?:one of )?(\w+)/.exec(guess ?? "")?.[1];
  if (guessed?.[0] === word[0] && guessed !== undefined) return text;
  const isTop = command.parent === null;
  if (isTop && Object.hasOwn(COMMANDS, word)) return `${fact}; ${COMMANDS[word]}\n`;
  const names = command.commands.map((each) => each.name()).join(", ");
  return isTop ? `${fact}; the commands are ${names}\n` : `${fact}\n`;
}
