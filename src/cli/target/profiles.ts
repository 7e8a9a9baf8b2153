import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";

import { UsageError } from "../exits.ts";

/** A service and the token for it, which `caisson login` has stored. */
export interface Profile {
  readonly url: string;
  readonly token: string;
  /** Whether the token may travel unencrypted. */
  readonly insecureHttp?: true;
}

export interface Profiles {
  /** The name of the profile that is used without a flag, or null. */
  readonly current: string | null;
  readonly profiles: Readonly<Record<string, Profile>>;
}

/** The bits of the mode that let other users read or change a file. */
const OF_OTHERS = 0o077;
const NAME = /^[\w@[][\w.@:[\]-]{0,127}$/;

/** Returns the file of the profiles: in the folder of the user's settings (XDG Base Directory). */
export function profilesFile(): string {
  const { XDG_CONFIG_HOME: folder } = process.env;
  const base = folder !== undefined && path.isAbsolute(folder) ? folder : path.join(homedir(), ".config");
  return path.join(base, "caisson", "profiles.json");
}

/** @throws {UsageError} if the file cannot be read, or if other users can read it. */
export function readProfiles(): Profiles {
  const file = profilesFile();
  let text: string;
  try {
    if ((statSync(file).mode & OF_OTHERS) !== 0)
      throw new UsageError(`${file} has tokens, and other users can read it; run: chmod 600 ${file}`);
    text = readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return { current: null, profiles: {} };
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  try {
    const { current = null, profiles } = JSON.parse(text) as Partial<Profiles>;
    const isWhole = Object.values(profiles!).every(({ url, token }) => URL.canParse(url) && typeof token === "string");
    if (!isWhole) throw new TypeError("a profile has no url or no token");
    return { current, profiles: profiles! };
  } catch (error) {
    const message = `${file} is damaged: ${(error as Error).message}; remove it, and run caisson login again`;
    throw new UsageError(message, { cause: error });
  }
}

/** Replaces the file as a whole, because another command may read it at this moment. */
export function writeProfiles(profiles: Profiles): void {
  const file = profilesFile();
  if (Object.keys(profiles.profiles).length === 0) return rmSync(file, { force: true });
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const unfinished = `${file}.${process.pid}`;
  writeFileSync(unfinished, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600, flag: "w" });
  chmodSync(unfinished, 0o600);
  renameSync(unfinished, file);
}

/** @throws {UsageError} */
export function mustBeName(name: string): string {
  if (NAME.test(name) && name !== "__proto__") return name;
  throw new UsageError(`--profile ${JSON.stringify(name)}: a name has 1 to 128 letters, digits and . _ @ : -`);
}

/** @param fix what to do, as the end of the message. @throws {UsageError} if there is no profile of this name. */
export function profileOf(
  { profiles }: Profiles,
  name: string,
  source: string,
  fix = "; caisson login --profile NAME --url URL makes one",
): Profile {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile) return profile;
  const names = Object.keys(profiles);
  const known = names.length === 0 ? "there are no profiles" : `the profiles are ${names.join(", ")}`;
  throw new UsageError(`${source}: there is no profile ${JSON.stringify(name)}; ${known}${fix}`);
}
