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
import { ServiceError, UsageError } from "./exits.ts";

/** The milliseconds until a service must have loaded a change. It checks its keys twice a second. */
const LOADED_MS = 10_000;
const ASK_MS = 100;
/** The milliseconds to wait for another command that changes the same keys. */
const BUSY_MS = 5_000;

export interface Listed {
  readonly kid: string;
  /** `ended` if the service has removed it, because no valid token is signed with it. */
  readonly state: "waits" | "signs" | "verifies" | "ended";
  /** ISO 8601, or null if unknown. */
  readonly made: string | null;
  readonly signsFrom: string | null;
}

export async function list(config: Config): Promise<Listed[]> {
  const file = fileOf(config);
  const keys = await readKeyFile(file);
  if (keys === undefined) throw missing(file);
  const servedKids = await askKeys(config);
  const { kid: signing } = signingKey(keys, Date.now());
  const at = keys.findIndex(({ kid }) => kid === signing);
  return keys.map(({ kid, iat, nbf }, index) => {
    // If the service has another file, its keys say nothing about this file.
    const ended = index > at && servedKids?.includes(signing) && !servedKids.includes(kid);
    const state = index < at ? "waits" : index === at ? "signs" : ended ? "ended" : "verifies";
    return { kid, state, made: timeOf(iat), signsFrom: timeOf(nbf ?? iat) };
  });
}

/** Prints what a command has changed, before it waits for the service. @param kid the new key, or null */
export type Print = (changed: { readonly kid: string | null; readonly revoked?: string }) => void;

/** Creates the first key and prints its name. */
export async function make(config: Config, print: Print): Promise<void> {
  const kid = await withLock(fileOf(config), (file) => makeKeys(file, Date.now()));
  print({ kid });
  await awaitLoaded(config, (kids) => kids.includes(kid));
}

/** Creates another key and prints its name. @param after the delay until the key signs, with its unit. */
export async function rotate(config: Config, print: Print, after: string | undefined): Promise<void> {
  const nowMs = Date.now();
  const fromS = after === undefined ? undefined : Math.ceil((nowMs + delay(after)) / 1_000);
  const kid = await change(config, (file) => rotateKeys(file, nowMs, fromS));
  print({ kid });
  await awaitLoaded(config, (kids) => kids.includes(kid));
}

/** Removes a key. Prints the name of the key that replaces it, if it was the last key. */
export async function revoke(config: Config, print: Print, kid: string): Promise<void> {
  const made = await change(config, (file) => revokeKey(file, kid, Date.now()));
  print({ kid: made, revoked: kid });
  await awaitLoaded(config, (kids) => !kids.includes(kid) && (made === null || kids.includes(made)));
}

function delay(text: string): number {
  try {
    return duration(0)(text);
  } catch (error) {
    throw new UsageError(`--after: ${(error as Error).message}`, { cause: error });
  }
}

function fileOf({ keys, data }: Config): string {
  return keys ?? path.join(path.resolve(data), "keys.json");
}

/** Changes an existing file with a lock, as the owner of its folder. */
async function change<T>(config: Config, work: (file: string) => Promise<T>): Promise<T> {
  const file = fileOf(config);
  if (!existsSync(file)) throw missing(file);
  return await withLock(file, work);
}

/** Runs work with a lock, as the owner of the file's folder. The folder must exist. */
async function withLock<T>(file: string, work: (file: string) => Promise<T>): Promise<T> {
  if (!existsSync(path.dirname(file))) throw missing(file);
  const name = path.basename(file);
  const busy = "another command is changing the keys; try again";
  const lock = enterAsOwner(path.dirname(file), (createFile) => lockFile(`${name}.lock`, busy, BUSY_MS, createFile));
  try {
    return await work(name);
  } finally {
    lock.release();
  }
}

function timeOf(unixS: number | undefined): string | null {
  return unixS === undefined ? null : new Date(unixS * 1_000).toISOString().replace(".000", "");
}

/**
 * Waits until the service has loaded the change, and reports it. A change of the file alone does not stop the use of a
 * stolen key.
 */
async function awaitLoaded(config: Config, isLoaded: (kids: readonly string[]) => boolean): Promise<void> {
  const { host, port } = placeOf(config);
  for (const giveUpMs = performance.now() + LOADED_MS; performance.now() < giveUpMs; await pause(ASK_MS)) {
    const kids = await askKeys(config);
    if (kids === null) {
      process.stderr.write(
        `caisson: no service answers at port ${port} of ${host}; a service that starts loads these keys\n`,
      );
      return;
    }
    if (isLoaded(kids)) {
      process.stderr.write(`caisson: the service at port ${port} of ${host} has loaded the change\n`);
      return;
    }
  }
  throw new ServiceError(
    `the file is changed, but the service at port ${port} of ${host} has not loaded it; see its log, or restart it`,
  );
}
