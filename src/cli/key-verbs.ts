import { existsSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import type { Config } from "../config.ts";
import { duration } from "../config/values.ts";
import { lockFile } from "../data-lock.ts";
import { askKeys, placeOf } from "../doctor/ask.ts";
import { missing, readKeyFile } from "../tokens/keys/key-file.ts";
import { makeKeys, revokeKey, rotateKeys, signingKey } from "../tokens/keys/key-rotation.ts";
import { enterAsOwner } from "./as-owner.ts";

/** A service looks at its keys twice a second. */
const TAKEN_MS = 10_000;
const ASK_MS = 100;
/** For another command that changes the same keys. */
const BUSY_MS = 5_000;

export interface Listed {
  readonly kid: string;
  /** `ended` when the service holds it no more, because nothing valid is signed with it. */
  readonly state: "waits" | "signs" | "verifies" | "ended";
  /** ISO 8601, or null when it is not known. */
  readonly made: string | null;
  readonly signsFrom: string | null;
}

export async function list(config: Config): Promise<Listed[]> {
  const file = fileOf(config);
  const keys = await readKeyFile(file);
  if (keys === undefined) throw missing(file);
  const held = await askKeys(config);
  const { kid: signing } = signingKey(keys, Date.now());
  const at = keys.findIndex(({ kid }) => kid === signing);
  return keys.map(({ kid, iat, nbf }, index) => {
    // Where it has another file nothing can be told from what it holds.
    const ended = index > at && held?.includes(signing) && !held.includes(kid);
    const state = index < at ? "waits" : index === at ? "signs" : ended ? "ended" : "verifies";
    return { kid, state, made: timeOf(iat), signsFrom: timeOf(nbf ?? iat) };
  });
}

/** Makes a first key and prints its name. */
export async function make(config: Config): Promise<void> {
  const kid = await alone(fileOf(config), (file) => makeKeys(file, Date.now()));
  process.stdout.write(`${kid}\n`);
  await taken(config, (kids) => kids.includes(kid));
}

/** Makes a further key and prints its name. @param after how long it waits before it signs, with its unit. */
export async function rotate(config: Config, after: string | undefined): Promise<void> {
  const nowMs = Date.now();
  const fromS = after === undefined ? undefined : Math.ceil((nowMs + delay(after)) / 1_000);
  const kid = await change(config, (file) => rotateKeys(file, nowMs, fromS));
  process.stdout.write(`${kid}\n`);
  await taken(config, (kids) => kids.includes(kid));
}

/** Takes a key away, and prints the name of the one that is made where it was the last. */
export async function revoke(config: Config, kid: string): Promise<void> {
  const made = await change(config, (file) => revokeKey(file, kid, Date.now()));
  if (made !== null) process.stdout.write(`${made}\n`);
  await taken(config, (kids) => !kids.includes(kid) && (made === null || kids.includes(made)));
}

function delay(given: string): number {
  try {
    return duration(0)(given);
  } catch (error) {
    throw new Error(`--after: ${(error as Error).message}`, { cause: error });
  }
}

function fileOf({ keys, data }: Config): string {
  return keys ?? path.join(path.resolve(data), "keys.json");
}

/** Changes the file as whoever its folder belongs to, and alone. */
async function change<T>(config: Config, work: (file: string) => Promise<T>): Promise<T> {
  const file = fileOf(config);
  if (!existsSync(file)) throw missing(file);
  return await alone(file, work);
}

/** Its folder must be there. */
async function alone<T>(file: string, work: (file: string) => Promise<T>): Promise<T> {
  if (!existsSync(path.dirname(file))) throw missing(file);
  const name = path.basename(file);
  const busy = "another command changes the keys; try again";
  const lock = enterAsOwner(path.dirname(file), (made) => lockFile(`${name}.lock`, busy, BUSY_MS, made));
  try {
    return await work(name);
  } finally {
    lock.release();
  }
}

function timeOf(unixS: number | undefined): string | null {
  return unixS === undefined ? null : new Date(unixS * 1_000).toISOString().replace(".000", "");
}

/** Says whether the service has taken the change. What is only in a file is worth nothing to who revokes a stolen key. */
async function taken(config: Config, isTaken: (kids: readonly string[]) => boolean): Promise<void> {
  const { host, port } = placeOf(config);
  for (const giveUpMs = performance.now() + TAKEN_MS; performance.now() < giveUpMs; await pause(ASK_MS)) {
    const kids = await askKeys(config);
    if (kids === null) {
      process.stderr.write(
        `caisson: no service answers at port ${port} of ${host}; one that starts takes these keys\n`,
      );
      return;
    }
    if (isTaken(kids)) {
      process.stderr.write(`caisson: the service at port ${port} of ${host} has taken the change\n`);
      return;
    }
  }
  throw new Error(
    `the file is changed, but the service at port ${port} of ${host} has not taken it; see its log, or restart it`,
  );
}
