import { keepCodeWith } from "./kept-code.ts";
import { enterUserFolder } from "./user-folder.ts";

/**
 * Executes the command of this process.
 *
 * @param keep keeps the compiled code of this process; the default is that of a process that runs from its source
 */
export async function commandLine(keep?: () => void): Promise<void> {
  if (keep) keepCodeWith(keep);
  enterUserFolder(process.env);
  const [, , name] = process.argv;
  // A start of the service needs none of the other commands, and they take as much time as a tenth of it.
  const { withHelpFlag } = await import("./cli/help-words.ts");
  const { program } = name === "serve" ? await import("./cli/serve-program.ts") : await import("./cli/program.ts");
  // Without a command, the user needs the list of commands.
  const caisson = program();
  const words = name === undefined ? ["--help"] : withHelpFlag(caisson, process.argv.slice(2));
  await caisson.parseAsync(words, { from: "user" });
}
