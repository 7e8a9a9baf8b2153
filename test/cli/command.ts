import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { text } from "node:stream/consumers";

export const ROOT: string = path.join(import.meta.dirname, "../..");

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** No folder, so that the commands find no profile of the user who runs the tests. */
const NO_PROFILES = "/nonexistent";

/**
 * Runs the command line to its end, with only these settings in its environment.
 *
 * @param uid the user of the process; by default the user of the test.
 * @param input the content of stdin.
 * @param cwd the folder in which the user types the command.
 */
export async function command(
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
  uid?: number,
  input?: string,
  cwd: string = ROOT,
): Promise<Ended> {
  const child = spawn(path.join(ROOT, "scripts/node"), [path.join(ROOT, "dist/main.js"), ...args], {
    cwd,
    env: environmentOf(settings),
    stdio: ["pipe", "pipe", "pipe"],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  // The process may end before it reads stdin.
  child.stdin.on("error", () => {}).end(input);
  const closed = once(child, "close") as Promise<[number | null]>;
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, stdout, stderr };
}

/** Returns the environment of a command. */
export function environmentOf(settings: Readonly<Record<string, string>>): Record<string, string> {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(CAISSON|NODE)_/.test(name));
  return { ...Object.fromEntries(inherited), XDG_CONFIG_HOME: NO_PROFILES, ...settings };
}
