import { type Config, SETTINGS } from "../config.ts";
import type { Setting } from "./setting.ts";

/** Where the value of a setting came from, strongest first. */
export interface Sources {
  readonly flags: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly file: Readonly<Record<string, unknown>>;
}

/** The settings are wrong. The message lists every fault with its source. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/**
 * Flags win over variables, those over the file, that over the table's defaults.
 *
 * @throws {ConfigError} naming all faults at once.
 */
export function readConfig(sources: Sources): Config {
  const faults = Object.keys(sources.file)
    .filter((key) => !Object.hasOwn(SETTINGS, key))
    .map((key) => `the file has the key ${JSON.stringify(key)}, which is not a setting`);
  const config: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries(SETTINGS)) {
    const given = givenValue(key, setting, sources);
    try {
      config[key] = given ? setting.read(given.texts) : setting.fallback;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      faults.push(`${given!.source}: ${error.message}`);
    }
  }
  if (faults.length === 0) faults.push(...contradictions(config as unknown as Config));
  if (faults.length === 0) faults.push(...shownSecrets(config as unknown as Config, sources));
  if (faults.length > 0) throw new ConfigError(faults.join("\n"));
  return Object.freeze(config) as unknown as Config;
}

/** The variable that sets what a key of the table names: `wallLimit` is `CAISSON_WALL_LIMIT`. */
export function variableName(key: string): string {
  return `CAISSON_${key.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

function contradictions(config: Config): string[] {
  const faults = [];
  if ((config.tlsCert === null) !== (config.tlsKey === null)) faults.push("--tls-cert and --tls-key go together");
  if (config.isolation === "none" && !isLoopback(config.host)) {
    faults.push(`--isolation none has no wall, so it listens on loopback only, and not on --host ${config.host}`);
  }
  const safe =
    isLoopback(config.host) || config.tlsCert !== null || config.trustProxy.length > 0 || config.insecureHttp;
  if (!safe) {
    faults.push(
      `--host ${config.host} is not loopback: tokens would travel in the clear; ` +
        "give --tls-cert and --tls-key, --trust-proxy, or say --insecure-http",
    );
  }
  return faults;
}

/** The command line of a process is read by every user of its machine. */
function shownSecrets({ redis, redisPasswordFile }: Config, { flags }: Sources): string[] {
  if (redis === null) return redisPasswordFile === null ? [] : ["--redis-password-file needs --redis"];
  if (redis.password === null) return [];
  if (redisPasswordFile !== null) return ["the password of --redis is given twice, there and by --redis-password-file"];
  if (flags["redis"] === undefined) return [];
  return [
    "--redis: a password on the command line is read by every user of the machine; give it by --redis-password-file, " +
      `or the whole by ${variableName("redis")}`,
  ];
}

/** Loopback by name or number, the only place where a token may travel in the clear without being asked for. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function givenValue(
  key: string,
  setting: Setting<unknown>,
  sources: Sources,
): { source: string; texts: string[] } | null {
  const flag = setting.flag.split(" ")[0]!;
  if (sources.flags[key] !== undefined) return { source: flag, texts: list(sources.flags[key]) };
  const variable = variableName(key);
  const value = sources.environment[variable];
  if (value !== undefined) return { source: variable, texts: setting.repeatable ? commaSeparated(value) : [value] };
  const entry = sources.file[key];
  if (entry === undefined || entry === null) return null;
  const texts = setting.repeatable && typeof entry === "string" ? commaSeparated(entry) : list(entry);
  return { source: `${key} in the file`, texts };
}

function list(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).map(String);
}

function commaSeparated(value: string): string[] {
  return value.split(",").filter((part) => part.trim() !== "");
}
