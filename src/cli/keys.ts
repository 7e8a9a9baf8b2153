import { existsSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { Command } from "commander";

import type { Config } from "../config.ts";
import { duration } from "../config/values.ts";
import { lockFile } from "../data-lock.ts";
import { askKeys, placeOf } from "../doctor/ask.ts";
import { missing, readKeyFile } from "../tokens/key-file.ts";
import { makeKeys, revokeKey, rotateKeys, signingKey } from "../tokens/key-rotation.ts";
import { enterAsOwner } from "./as-owner.ts";
import { fail } from "./fail.ts";
import { addSettings, settingsOf } from "./settings.ts";

/** Where the keys are, and where the service listens that is waited for. */
const PLACE = ["data", "keys", "host", "port", "tlsCert", "tlsKey", "trustProxy", "insecureHttp"] as const;
/** A service looks at its keys twice a second. */
const TAKEN_MS = 10_000;
const ASK_MS = 100;
/** For another command that changes the same keys. */
const BUSY_MS = 5_000;

export function keysCommand(): Command {
  return new Command("keys")
    .description("the keys that tokens are signed with; a service takes a change of their file without a restart")
    .addCommand(listCommand())
    .addCommand(makeCommand())
    .addCommand(rotateCommand())
    .addCommand(revokeCommand());
}

function listCommand(): Command {
  const command = new Command("list")
    .description("what each key is for: the newest whose time has come signs, all verify")
    .option("--json", "print an array that programs can read");
  return verb(command, async (config) => {
    const keys = await list(config);
    process.stdout.write(command.opts<{ json?: true }>().json ? `${JSON.stringify(keys, null, 2)}\n` : lines(keys));
  });
}

function makeCommand(): Command {
  const command = new Command("make").description(
    "make a first key where the file is missing, and print its name; tokens of a lost file end with this",
  );
  return verb(command, async (config) => {
    const kid = await alone(fileOf(config), (file) => makeKeys(file, Date.now()));
    process.stdout.write(`${kid}\n`);
    await taken(config, (kids) => kids.includes(kid));
  });
}

function rotateCommand(): Command {
  const command = new Command("rotate")
    .description("make a key that signs from now on, and print its name; what older ones have signed stays valid")
    .option(
      "--after <duration>",
      "when it begins to sign, such as 10m: until then other nodes get the file, and whoever checks tokens the public key",
    );
  return verb(command, async (config) => {
    const { after } = command.opts<{ after?: string }>();
    const nowMs = Date.now();
    const fromS = after === undefined ? undefined : Math.ceil((nowMs + delay(after)) / 1_000);
    const kid = await change(config, (file) => rotateKeys(file, nowMs, fromS));
    process.stdout.write(`${kid}\n`);
    await taken(config, (kids) => kids.includes(kid));
  });
}

function revokeCommand(): Command {
  const command = new Command("revoke")
    .description(
      "take a key away, which ends every token that was signed with it and all below those, at once and for good",
    )
    .argument("<kid>", "the name of the key, as keys list gives it; behind -- where it begins with a hyphen");
  return verb(command, async (config, kid) => {
    const made = await change(config, (file) => revokeKey(file, kid!, Date.now()));
    if (made !== null) process.stdout.write(`${made}\n`);
    await taken(config, (kids) => !kids.includes(kid!) && (made === null || kids.includes(made)));
  });
}

function verb(command: Command, work: (config: Config, word?: string) => Promise<void>): Command {
  addSettings(command, PLACE);
  return command.action(async (...given: unknown[]) => {
    try {
      await work(settingsOf(command), typeof given[0] === "string" ? given[0] : undefined);
    } catch (error) {
      fail(error);
    }
  });
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

interface Listed {
  readonly kid: string;
  /** `ended` when the service holds it no more, because nothing valid is signed with it. */
  readonly state: "waits" | "signs" | "verifies" | "ended";
  /** ISO 8601, or null when it is not known. */
  readonly made: string | null;
  readonly signsFrom: string | null;
}

async function list(config: Config): Promise<Listed[]> {
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

function timeOf(unixS: number | undefined): string | null {
  return unixS === undefined ? null : new Date(unixS * 1_000).toISOString().replace(".000", "");
}

function lines(keys: readonly Listed[]): string {
  const rows = keys.map(({ kid, state, made, signsFrom }) => {
    const what = {
      waits: `signs from ${signsFrom} on`,
      signs: "signs",
      verifies: "verifies",
      ended: "ended: nothing that it signed is valid any more",
    }[state];
    return `${kid}  ${(made ?? "").padEnd("2026-01-01T00:00:00Z".length)}  ${what}\n`;
  });
  return rows.join("");
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
