import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

const FOLDER = import.meta.dirname;
const STAMP = path.join(FOLDER, "node_modules/.caisson-peers");
const TIMEOUT_MS = 600_000;
/** The lines of npm's errors that a failure shows. */
const SHOWN_LINES = 3;

let installing: Promise<void> | null = null;

/** Installs the peers from their lock file, unless that was done before. @throws {Error} with the reason */
export function installPeers(): Promise<void> {
  installing ??= install();
  return installing;
}

/** Returns the installed version of a package. */
export async function versionOf(name: string): Promise<string> {
  const text = await readFile(path.join(FOLDER, "node_modules", name, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

async function install(): Promise<void> {
  const lock = createHash("sha256")
    .update(await readFile(path.join(FOLDER, "package-lock.json")))
    .digest("hex");
  if (existsSync(STAMP) && (await readFile(STAMP, "utf8")) === lock) return;
  console.log("installing the peers from bench/peers/package-lock.json, which takes minutes");
  try {
    await promisify(execFile)("npm", ["ci", "--loglevel=error"], { cwd: FOLDER, timeout: TIMEOUT_MS });
  } catch (error) {
    const { stderr = "", message } = error as Error & { stderr?: string };
    throw new Error(`npm ci failed in bench/peers: ${reasonIn(stderr) || message}`, { cause: error });
  }
  await writeFile(STAMP, lock);
}

/** Returns the first lines of npm's errors, without the code and the empty line that begin them. */
function reasonIn(stderr: string): string {
  const lines = [...stderr.matchAll(/^npm error (?!code )(.+)$/gm)].map(([, line]) => line!);
  return lines.slice(0, SHOWN_LINES).join(" ");
}
