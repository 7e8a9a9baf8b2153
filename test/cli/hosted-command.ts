import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";

import type { Asked } from "./command-host.ts";
import { type Ended, environmentOf, ROOT } from "./command.ts";

let host: ChildProcess | null = null;
/** The command that runs, or the last one. */
let latest: Promise<unknown> = Promise.resolve();

/**
 * Runs the command line to its end, as `command` does, but all commands of a file in one process, one after the other: most of the
 * processor time of a command is the start of its process. For commands whose process is not what a test is about.
 */
export function hostedCommand(
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
  input?: string,
  folder: string = ROOT,
): Promise<Ended> {
  const ended = latest.then(() => ask({ args, environment: environmentOf(settings), folder, input }));
  latest = ended.catch(() => {});
  return ended;
}

async function ask(asked: Asked): Promise<Ended> {
  host ??= fork(path.join(import.meta.dirname, "command-host.ts"), {
    execArgv: ["--disable-warning=ExperimentalWarning"],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const asks = new AbortController();
  const { signal } = asks;
  // It keeps the test alive only while it has a command. It ends itself when the test has ended.
  host.ref();
  host.channel!.ref();
  try {
    const answered = once(host, "message", { signal }) as Promise<[Ended]>;
    const died = once(host, "exit", { signal }).then(([code, by]) => {
      throw new Error(`the host of commands ended with ${code ?? by}`);
    });
    host.send(asked);
    return (await Promise.race([answered, died]))[0];
  } finally {
    host.unref();
    host.channel?.unref();
    asks.abort();
  }
}
