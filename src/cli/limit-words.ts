import type { Command } from "commander";

import { WINDOW_NAMES } from "../limits/windows.ts";
import { nearest } from "../nearest.ts";
import { isJti } from "../tokens/claims.ts";

const KINDS = ["container", "token"];

/** Returns the limits that words such as `minute 10`, `minute:10` and `10/minute` mean, as `minute=10`; null if they mean none. */
export function limitsMeant(texts: readonly string[]): string | null {
  const words = texts
    .join(" ")
    .split(/[\s:=,;/]+/)
    .filter((word) => word !== "" && word !== "per");
  const pairs: string[] = [];
  for (let index = 0; index < words.length; index += 2) {
    const pair = [words[index]!, words[index + 1] ?? ""];
    const number = pair.find((word) => /^[1-9]\d{0,8}$/.test(word));
    const window = pair.map((word) => windowOf(word)).find((name) => name !== null);
    if (number === undefined || window === undefined) return null;
    pairs.push(`${window}=${number}`);
  }
  return pairs.length === 0 ? null : pairs.join(" ");
}

function windowOf(word: string): string | null {
  const name = word.replace(/^-+/, "").toLowerCase();
  return nearest(name, WINDOW_NAMES);
}

/** Returns the whole command for the words of `caisson limits` that lack the kind or have another form; null if it is not clear. */
export function limitsCommandMeant(command: Command): string | null {
  const verb = command.name();
  const [first = "", ...others] = command.args;
  const kind = KINDS.includes(first) ? first : nearest(first, KINDS);
  const [name, rest] = kind === null ? [first, others] : [others[0] ?? "", others.slice(1)];
  if (!/^[A-Za-z0-9_][\w.@-]*$/.test(name)) return null;
  if (verb !== "set")
    return rest.length > 0 ? null : `caisson limits ${verb} ${isJti(name) ? "token" : "container"} ${name}`;
  const limits = kind === "token" ? null : limitsMeant(rest);
  return limits === null ? null : `caisson limits set container ${name} ${limits}`;
}
