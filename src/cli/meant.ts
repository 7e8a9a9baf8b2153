import type { Command } from "commander";

import { nearest } from "../nearest.ts";
import { EXAMPLES } from "./examples.ts";
import { limitsCommandMeant } from "./limit-words.ts";
import { OF_CODE, OTHER_COMMANDS, OTHER_SUBCOMMANDS } from "./other-commands.ts";
import { surplusPair } from "./pairs.ts";

/** Flags of other programs and of other commands, and the flag that does the same here. */
const FLAGS: Readonly<Record<string, string>> = {
  "--tail": "--limit",
  "--lines": "--limit",
  "-n": "--limit",
  "--from": "--since",
  "--to": "--until",
  "--body": "--input",
  "--payload": "--input",
  "--event": "--input",
  "--args": "--input",
  "--function": "--task",
  "--namespace": "--container",
  "--project": "--container",
  "-d": "--input",
  "-c": "--container",
  "--ttl": "--expires",
  "--expiry": "--expires",
  "--lifetime": "--expires",
  "--duration": "--expires",
  "--permission": "--can",
  "--permissions": "--can",
  "--exp": "--expires",
  "--expires-in": "--expires",
  "--verbs": "--can",
  "--scope": "--can",
  "--follow": "-f",
  "--npm": "--package",
  "--dependency": "--package",
  "-v": "--version",
  "-p": "--port",
  "--data-dir": "--data",
  "--data-folder": "--data",
  "--dir": "--data",
  "--bind": "--host",
  "--listen": "--host",
  "--timeout": "--wall-limit",
  "--run-timeout": "--wall-limit",
  "--task-timeout": "--wall-limit",
  "--request-timeout": "--wall-limit",
  "--max-time": "--wall-limit",
  "--max-memory": "--memory-limit",
  "--mem": "--memory-limit",
  "--https": "--tls-cert",
  "--ssl": "--tls-cert",
  "--db": "--data",
  "--storage": "--data",
  "--address": "--host",
  "--allow-net": "--egress-allow",
  "--redis-url": "--redis",
  "--memory": "--memory-limit",
  "--cpu": "--cpu-limit",
  "--verbose": "--log-level",
  "--debug": "--log-level",
  "--tls": "--tls-cert",
  "--cert": "--tls-cert",
  "--key": "--tls-key",
  "--ssl-cert": "--tls-cert",
  "--ssl-key": "--tls-key",
};
/** Windows of limits, which are not flags. */
const WINDOW = /^--(second|minute|hour|day|week|month)$/;
/** Faults of the command line whose message names no form. */
const WITHOUT_FORM = /missing required argument|too many arguments|required option|argument missing|is invalid/;

/**
 * Completes a message of commander: a flag or a command that does not exist with what the user meant, or with the list of the
 * commands; any other fault with the form of the command.
 */
export function meant(command: Command, text: string): string {
  const [, kind, word] = /unknown (option|command) '([^']*)'/.exec(text) ?? [];
  if (kind === "command") return commandMeant(command, text, word!);
  const instead = kind === "option" ? flagMeant(command, word!, text) : surplusMeant(command, text);
  return instead === null ? text : `${text.trimEnd().split("\n")[0]!.replace(/\.$/, "")}; ${instead}\n`;
}

function flagMeant(command: Command, word: string, text: string): string | null {
  const flag = word.split("=")[0]!;
  const has = (name: string): boolean => command.options.some(({ long, short }) => long === name || short === name);
  const same = Object.hasOwn(FLAGS, flag) ? FLAGS[flag]! : null;
  if (same !== null && has(same)) return `did you mean ${same}?`;
  if (pathOf(command) === "caisson limits set") {
    const words = limitsCommandMeant(command);
    if (words !== null) return `did you mean ${words}?`;
  }
  const window = WINDOW.exec(flag)?.[1];
  if (window !== undefined && has("--limit") && has("--can")) return `did you mean --limit container.${window}=5?`;
  if (flag === "--container" && command.name() === "deploy") return "caisson.json names the container";
  if (/^--(?:package|npm)s?$/.test(flag) && pathOf(command) === "caisson deploy")
    return 'caisson.json names the packages, such as "packages": {"zod": "^4"}';
  if (/^(?:-e|--eval|--code|--script|--source)$/.test(flag) && command.name() === "run")
    return "write the code to stdin: echo 'return 1' | caisson run -";
  if (command.name() === "run" && OF_CODE.test(flag)) {
    return "code receives params and secrets of its task or token: caisson tasks deploy --param, --secret";
  }
  if (flag === "--admin-token" && command.name() === "serve")
    return "the service writes its administrative token to the file admin.token in the data folder";
  if (/^--(?:rate-)?limits?$/.test(flag) && command.name() === "serve")
    return "did you mean --container-limit minute=60? caisson limits set container NAME minute=60 is for one container";
  if (flag === "--token" || flag === "--api-key" || flag === "--key")
    return "the token is in the variable CAISSON_TOKEN, or caisson login stores it: a flag would show it to other users of the machine";
  if (flag !== word && has(flag)) return `${flag} takes no value`;
  if (flag === "--cors" && command.name() === "serve")
    return "pages of every origin may call a public task, and need no flag";
  // Commander also guesses flags that have only some letters in common: --cors is not --port.
  const guess = /\(Did you mean (?:one of )?(--[\w-]+)/.exec(text)?.[1];
  if (guess !== undefined && nearest(flag, [guess]) !== null) return null;
  const below = command.parent === null ? serveWith(command, flag) : null;
  if (below !== null) return `did you mean ${below}?`;
  return `${pathOf(command)} --help lists the flags`;
}

/** Returns the form of `serve` with a flag that was written without the command, or null. */
function serveWith(root: Command, flag: string): string | null {
  const serve = root.commands.find((each) => each.name() === "serve");
  const isOfServe = serve?.options.some(({ long }) => long === flag);
  return isOfServe ? `caisson serve ${flag}` : null;
}

/** Returns what a surplus argument is, or the form of the command, or null if commander prints the form itself. */
function surplusMeant(command: Command, text: string): string | null {
  if (!WITHOUT_FORM.test(text)) return null;
  const surplus = /^.*too many arguments .* but got \d+: (https?:\/\/[^\s,]+?)\.?$/m.exec(text)?.[1];
  const other = otherMeant(command, text);
  if (other !== null) return other;
  if (surplus !== undefined && command.options.some(({ long }) => long === "--url"))
    return `did you mean --url ${surplus}?`;
  if (command.name() === "set" && /value 'token' is invalid/.test(text))
    return "the limits of a token are set when it is issued, with caisson tokens issue --limit token.minute=60";
  const isOfLimits = command.parent?.name() === "limits" && /argument '(?:kind|name)'/.test(text);
  const limits = isOfLimits ? limitsCommandMeant(command) : null;
  if (limits !== null) return `did you mean ${limits}?`;
  const { _showHelpAfterError: printsForm } = command as Command & { readonly _showHelpAfterError?: unknown };
  const [form] = EXAMPLES.get(command) ?? [];
  if (printsForm || form === undefined) return null;
  const flag = /option '(?:-\w, )?(--[^']+)' argument missing/.exec(text)?.[1];
  return `the form is: caisson ${form}${flag === undefined || form.includes(flag.split(" ")[0]!) ? "" : ` ${flag}`}`;
}

/** Returns what a surplus word means, if a flag or another command takes it, or null. */
function otherMeant(command: Command, text: string): string | null {
  const words = /^.*too many arguments .* but got \d+: (.+?)\.?$/m.exec(text)?.[1]?.split(", ") ?? [];
  const word = words.at(-1);
  if (word === undefined || words.some((each) => !/^[\w@./*-]+$/.test(each))) return null;
  const pairs = command.options.filter(({ flags }) => flags.includes("=")).map(({ long }) => long ?? "");
  const pair = words.map((each) => surplusPair(pairs, each)).find((each) => each !== null);
  if (pair !== undefined) return pair;
  if (pathOf(command) === "caisson settings")
    return "settings are set when the service starts: with a flag of caisson serve, a variable or --config";
  if (pathOf(command) === "caisson usage") return "caisson usage --by container counts the runs of each container";
  if (pathOf(command) === "caisson logs")
    return `it takes a container; for the runs of one task: caisson runs list ${words[0]} --task ${word}`;
  if (pathOf(command) === "caisson serve") {
    const taken = takenFlag(command);
    if (taken !== null) return taken;
    // npm takes flags without -- for itself.
    const isNpm = process.env["npm_lifecycle_event"] === "start";
    if (/^\d{1,5}$/.test(word)) return `did you mean ${isNpm ? "npm start -- " : ""}--port ${word}?`;
  }
  if (pathOf(command) === "caisson deploy") {
    const file = words.find((each) => /\.[cm]?[jt]sx?$/.test(each));
    const container = words.find((each) => each !== file && !/[./]/.test(each)) ?? "CONTAINER";
    if (file !== undefined) return `did you mean caisson tasks deploy ${container} ${file}?`;
    return "deploy takes one folder, and its caisson.json names the container";
  }
  if (command.name() !== "list" || command.parent === null) return null;
  if (command.options.some(({ long }) => long === "--container")) return `did you mean --container ${word}?`;
  const hasShow = command.parent.commands.some((each) => each.name() === "show");
  return hasShow ? `did you mean ${pathOf(command.parent)} show ${words.join(" ")}?` : null;
}

/** Returns which flag has taken the next one for its value, or null. */
function takenFlag(command: Command): string | null {
  for (const option of command.options) {
    const value: unknown = command.getOptionValue(option.attributeName());
    const taken = [value].flat().find((each): each is string => typeof each === "string" && /^--\w/.test(each));
    if (taken !== undefined) return `${option.long} needs a value, and took ${taken} for it`;
  }
  return null;
}

/** A guess with another first letter is seldom right: `open` is not `token`. */
function commandMeant(command: Command, text: string, word: string): string {
  const [fact, guess] = text.trimEnd().split("\n");
  const isTop = command.parent === null;
  const other = isTop ? OTHER_COMMANDS : (OTHER_SUBCOMMANDS[command.name()] ?? {});
  if (Object.hasOwn(other, word)) return `${fact}; ${other[word]}\n`;
  const guessed = /^\(Did you mean (?:one of )?(\w+)/.exec(guess ?? "")?.[1];
  // Commander also guesses words that have only some letters in common: update is not usage.
  if (guessed?.[0] === word[0] && guessed !== undefined && nearest(word, [guessed]) !== null) return text;
  const name = nearest(word, namesOf(command));
  if (name?.[0] === word[0] && name !== null) return `${fact}\n(Did you mean ${name}?)\n`;
  const near = isTop ? null : nearest(word, Object.keys(other));
  if (near !== null) return `${fact}; ${other[near]}\n`;
  const list = command.commands.find((each) => each.name() === "list");
  const takesContainer = list?.registeredArguments.some((each) => each.name() === "container");
  if (list && takesContainer && /^[\w@.-]+$/.test(word)) return `${fact}; for a container: ${pathOf(list)} ${word}\n`;
  const names = command.commands.map((each) => each.name()).join(", ");
  return isTop ? `${fact}; the commands are ${names}\n` : `${fact}\n`;
}

function namesOf(command: Command): string[] {
  return command.commands.flatMap((each) => [each.name(), ...each.aliases()]);
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}
