import type { Command } from "commander";

/** The examples of each command, which tests parse. */
export const EXAMPLES: WeakMap<Command, readonly string[]> = new WeakMap<Command, readonly string[]>();

/** Prints examples before the rest of the help, because most readers of a help need a line to copy. */
export function addExamples(command: Command, examples: readonly string[]): Command {
  EXAMPLES.set(command, examples);
  const lines = examples.map((example) => `  caisson ${example}\n`);
  return command.addHelpText("before", `Examples:\n${lines.join("")}`);
}
