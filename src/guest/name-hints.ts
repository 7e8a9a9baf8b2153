import { distance } from "../wire/distance.ts";
import { nearName } from "./near-name.ts";
import { runValue } from "./run-values.ts";
import type { Run } from "./run.ts";

/** The names of a text that are compared with a wrong one. */
const MAX_NAMES = 1_000;
const NOT_DEFINED = /^([A-Za-z_$][\w$]*) is not defined$/;
const SHELL = /^\s*(?:ls|cd|cat|pwd|mkdir|rm|cp|mv|node|python3?|whoami|env)(?:[ \t]+[\w./~-]+)*\s*$/;
const WORD = /[A-Za-z_$][\w$]*/g;
/** Modules of Node whose name is no usual name of a variable. Other runtimes have some of them as globals. */
const MODULES = /^(?:fs|path|os|util|http|https|zlib|net|dns|tls|assert|child_process|readline|querystring|vm)$/;

/** Names of the language and of Node that are often misspelt. */
export const GLOBALS: readonly string[] =
  "console fetch JSON Math Object Array Promise String Number Boolean Date Map Set RegExp Error URL URLSearchParams Response Request Headers Buffer process crypto require module exports setTimeout setInterval clearTimeout structuredClone context undefined return function async await const let typeof".split(
    " ",
  );
/** Names of one letter more or less, and long names with two mistakes, are misspellings; others are other names. */
const LONG = 9;

/** Returns the hint for a name that nothing declares, or undefined. */
export function nameHint(text: string, message: string, run: Run): string | undefined {
  const name = NOT_DEFINED.exec(message)?.[1];
  if (name === undefined) return undefined;
  if (SHELL.test(text)) return "The text looks like a command of a shell. Only JavaScript and TypeScript run here.";
  if (MODULES.test(name) && new RegExp(String.raw`(?<![\w$.])${name}\s*\.\s*\w`).test(text))
    return `${name} is a module of Node: write const ${name} = require("node:${name}"), or import ${name} from "node:${name}" in an ES module.`;
  const sent = runValue(name, run, false);
  if (sent !== null) {
    const isModule = /^\s*(?:import|export)\b/m.test(text);
    const how = isModule ? "export default (context) => ..., and read " : "";
    return `No variable has the name ${name}, but the run has it in the context: write ${how}context.${sent.part}.${name}.`;
  }
  // A name with another first letter is seldom a misspelling: path is not Math.
  const globals = GLOBALS.filter((each) => each[0]!.toLowerCase() === name[0]!.toLowerCase());
  const near = close(name, nearName(name, globals)) ?? close(name, nearName(name, namesIn(text)));
  if (near !== null) return `Did you mean ${near}?`;
  return `Nothing declares ${name}: declare it with const or let, import it, or correct the name.`;
}

function close(name: string, near: string | null): string | null {
  if (near === null || name.length >= LONG) return near;
  return distance(name.toLowerCase(), near.toLowerCase()) < 2 ? near : null;
}

/** Returns the different words of a text. */
export function namesIn(text: string): string[] {
  const names: string[] = [];
  const words = new RegExp(WORD.source, "g");
  for (let found = words.exec(text); found && names.length < MAX_NAMES; found = words.exec(text)) {
    if (!names.includes(found[0])) names[names.length] = found[0];
  }
  return names;
}
