import type { Command } from "commander";

/**
 * Returns the words of a command line with `tasks deploy --help` for `help tasks deploy`. Commander prints the help of the parent for a
 * command that does not exist; here the error names the command that was meant.
 */
export function withHelpFlag(caisson: Command, words: readonly string[]): readonly string[] {
  const isFlag = words.some((word) => word === "--help" || word === "-h");
  const path: string[] = [];
  let at = caisson;
  let asks = isFlag;
  let index = 0;
  for (; index < words.length && at.commands.length > 0; index += 1) {
    const word = words[index]!;
    if (word.startsWith("-")) break;
    if (word === "help") {
      asks = true;
      continue;
    }
    const next = at.commands.find((each) => each.name() === word || each.aliases().includes(word));
    if (!next) {
      if (asks) at.error(`error: unknown command '${word}'`);
      return words;
    }
    path.push(word);
    at = next;
  }
  return asks && !isFlag ? [...path, "--help"] : words;
}
