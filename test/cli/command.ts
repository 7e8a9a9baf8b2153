import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { text } from "node:stream/consumers";

const ROOT = path.join(import.meta.dirname, "../..");

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs the command line to its end, with only these settings in its environment.
 *
 * @param uid the user of the process; by default the user of the test.
 * @param input the content of stdin.
 */
export async function command(
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
  uid?: number,
  input?: string,
): Promise<Ended> {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(CAISSON|NODE)_/.test(name));
  const child = spawn("scripts/node", ["dist/main.js", ...args], {
    cwd: ROOT,
    env: { ...Object.fromEntries(inherited), ...settings },
    stdio: ["pipe", "pipe", "pipe"],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  // The process may end before it reads stdin.
  child.stdin.on("error", () => {}).end(input);
  const closed = once(child, "close") as Promise<[number | null]>;
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, stdout, stderr };
}
