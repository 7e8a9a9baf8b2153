import { Command } from "commander";

import { addExamples } from "./examples.ts";
import { fail } from "./fail.ts";
import { Bridge } from "./mcp/bridge.ts";
import { readLines } from "./mcp/read-lines.ts";
import { say } from "./print/say.ts";
import { addTarget, name, targetOf } from "./remote.ts";

/** How long answers are awaited after the end of stdin. Then their runs are cancelled. */
const REST_MS = 5_000;

interface McpFlags {
  readonly container?: string;
}

export function mcpCommand(): Command {
  const command = new Command("mcp")
    .description(
      "connect a client of the Model Context Protocol, which starts this program, to a service: messages on stdin and stdout",
    )
    .option(
      "--container <name>",
      "the container of all tools; without it each call names one, unless the token has exactly one",
      name,
    );
  addExamples(command, ["mcp --container acme", "mcp --url https://caisson.example --container acme"]);
  addTarget(command);
  return command.action(async () => {
    try {
      await bridge(command);
    } catch (error) {
      fail(error);
    }
  });
}

async function bridge(command: Command): Promise<void> {
  const { container } = command.opts<McpFlags>();
  const { url, token, fetch } = targetOf(command);
  const path = container === undefined ? "mcp" : `mcp/${encodeURIComponent(container)}`;
  const passing = new Bridge({
    ...{ url: `${url}/${path}`, token: token!, fetch },
    // Everything on stdout is a message: nothing else in this process may write there.
    write: (line) => process.stdout.write(`${line}\n`),
    report: (text) => say(text),
  });
  process.stdout.on("error", () => process.exit(0));
  const answering = new Set<Promise<void>>();
  await readLines(process.stdin, (line) => {
    const answered = passing.receive(line).finally(() => answering.delete(answered));
    answering.add(answered);
  });
  // The client has gone, or a shell has piped all of its messages: then it still reads the answers.
  const timer = setTimeout(() => passing.close(), REST_MS);
  await Promise.all(answering);
  clearTimeout(timer);
}
