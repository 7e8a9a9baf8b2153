import { type Config, SETTINGS } from "../config.ts";
import { didYouMean, nearest } from "../nearest.ts";
import type { Setting } from "./setting.ts";

/** The sources of a setting's value, in the order of precedence. */
export interface Sources {
  readonly flags: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly file: Readonly<Record<string, unknown>>;
}

/** The error of invalid settings. The message lists every fault with its source. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** The origin of each setting that was set. A setting that is not named has its default. */
export type Origins = Readonly<Record<string, "flag" | "variable" | "file">>;

/**
 * Reads all settings. Flags have precedence over variables, variables over the file, and the file over the defaults.
 *
 * @throws {ConfigError} with all faults.
 */
export function readConfig(given: Sources): Config {
  return readSettings(given).config;
}

/** Reads all settings as `readConfig` does, with their origins. @throws {ConfigError} with all faults. */
export function readSettings(given: Sources): { readonly config: Config; readonly origins: Origins } {
  const { entries, faults } = readKeys(given.file);
  const sources = { ...given, file: entries };
  const config: Record<string, unknown> = {};
  const origins: Record<string, Origins[string]> = {};
  for (const [key, setting] of Object.entries(SETTINGS)) {
    const found = findValue(key, setting, sources);
    try {
      config[key] = found ? setting.read(found.texts) : setting.fallback;
      if (found) origins[key] = found.origin;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      faults.push(`${found!.source}: ${error.message}`);
    }
  }
  if (faults.length === 0) faults.push(...contradictions(config as unknown as Config));
  if (faults.length === 0) faults.push(...shownSecrets(config as unknown as Config, sources));
  if (faults.length > 0) throw new ConfigError(faults.join("\n"));
  return { config: Object.freeze(config) as unknown as Config, origins };
}

/**
 * Reads the keys of the file. A key is the name of the setting, such as `wallLimit`, or its flag with or without the dashes
 * before it: `wall-limit`.
 */
function readKeys(file: Sources["file"]): { entries: Record<string, unknown>; faults: string[] } {
  const entries: Record<string, unknown> = {};
  const faults: string[] = [];
  for (const [written, value] of Object.entries(file)) {
    const key = Object.keys(SETTINGS).find((each) => isKey(each, written));
    if (key === undefined)
      faults.push(
        `the file has the key ${JSON.stringify(written)}, which is not a setting${didYouMean(written, SETTING_KEYS)}`,
      );
    else if (Object.hasOwn(entries, key)) faults.push(`the file has the setting ${key} twice`);
    // The flag of a setting that is on by default switches it off.
    else entries[key] = written !== key && isNegative(key) ? negated(value) : value;
  }
  return { entries, faults };
}

function isKey(key: string, written: string): boolean {
  return written === key || written.replace(/^--/, "") === flagOf(key).slice(2);
}

function flagOf(key: string): string {
  return SETTINGS[key as keyof Config].flag.split(" ")[0]!;
}

function isNegative(key: string): boolean {
  return flagOf(key).startsWith("--no-");
}

function negated(value: unknown): unknown {
  return typeof value === "boolean" ? !value : value === "true" ? "false" : value === "false" ? "true" : value;
}

/** Returns the variable of a setting: `CAISSON_WALL_LIMIT` for `wallLimit`. */
export function variableName(key: string): string {
  return `CAISSON_${key.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

const PREFIX = "CAISSON_";
const SETTING_KEYS = Object.keys(SETTINGS);
/** Variables that commands read and that are not settings. */
const OTHER_VARIABLES = ["CAISSON_CONFIG", "CAISSON_TOKEN", "CAISSON_URL", "CAISSON_PROFILE", "CAISSON_DEBUG"];

/** Returns a sentence for each variable that looks like a setting and is none: a misspelled limit would not be in force. */
export function unknownVariables(environment: Sources["environment"]): string[] {
  const known = [...Object.keys(SETTINGS).map(variableName), ...OTHER_VARIABLES];
  const unknown = Object.keys(environment).filter((name) => name.startsWith(PREFIX) && !known.includes(name));
  return unknown.map((name) => {
    // Without the common beginning, with which all of them would be similar.
    const rest = known.map((each) => each.slice(PREFIX.length));
    const meant = nearest(name.slice(PREFIX.length), rest);
    return `the variable ${name.slice(0, 100)} is not a setting${meant === null ? "" : `; did you mean ${PREFIX}${meant}?`}`;
  });
}

function contradictions(config: Config): string[] {
  const faults = [];
  if ((config.tlsCert === null) !== (config.tlsKey === null))
    faults.push("--tls-cert and --tls-key must be set together");
  if (config.isolation === "none" && !isLoopback(config.host)) {
    faults.push(
      `--isolation none does not isolate tasks, so the service listens on loopback only, and not on --host ${config.host}`,
    );
  }
  if (config.logDrainAuthorization !== null && config.logDrain?.kind !== "url") {
    faults.push("--log-drain-authorization needs the URL of a collector in --log-drain");
  }
  if (config.nodeUrl !== null && config.redis === null) faults.push("--node-url needs --redis");
  if (config.consoleServiceUrl !== null && config.consolePort === null) {
    faults.push("--console-service-url needs --console-port: otherwise the console is at / of the service");
  }
  const unknownScope = config.npmScopeToken.find(
    ({ scope }) => !config.npmScope.some((other) => other.scope === scope),
  );
  if (unknownScope)
    faults.push(`--npm-scope-token ${unknownScope.scope} needs the registry of the scope, in --npm-scope`);
  const safe =
    isLoopback(config.host) || config.tlsCert !== null || config.trustProxy.length > 0 || config.insecureHttp;
  const [, hostAlone, portInHost] = /^([\w.-]+|\[[\da-f:]+\]):(\d+)$/i.exec(config.host) ?? [];
  if (hostAlone !== undefined) {
    faults.push(`--host ${config.host} has a port; write --host ${hostAlone} --port ${portInHost}`);
  } else if (!safe) {
    faults.push(
      `--host ${config.host} is not loopback: tokens would travel unencrypted; ` +
        "set --tls-cert and --tls-key, --trust-proxy or --insecure-http",
    );
  }
  return faults;
}

/** Rejects secrets on the command line, which every user of the machine can read. */
function shownSecrets({ redis, redisPasswordFile }: Config, { flags }: Sources): string[] {
  if (redis === null) return redisPasswordFile === null ? [] : ["--redis-password-file needs --redis"];
  if (redis.password === null) return [];
  if (redisPasswordFile !== null)
    return ["the password of --redis is set twice, in its URL and by --redis-password-file"];
  if (flags["redis"] === undefined) return [];
  return [
    "--redis: every user of the machine can read a password on the command line; use --redis-password-file, " +
      `or set the URL with ${variableName("redis")}`,
  ];
}

/** Whether a host is loopback, by name or number. Only there tokens may travel unencrypted by default. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function findValue(
  key: string,
  setting: Setting<unknown>,
  sources: Sources,
): { source: string; origin: Origins[string]; texts: string[] } | null {
  const flag = setting.flag.split(" ")[0]!;
  if (sources.flags[key] !== undefined) return { source: flag, origin: "flag", texts: list(sources.flags[key]) };
  const variable = variableName(key);
  const value = sources.environment[variable];
  if (value !== undefined) {
    return { source: variable, origin: "variable", texts: setting.repeatable ? commaSeparated(value) : [value] };
  }
  const entry = sources.file[key];
  if (entry === undefined || entry === null) return null;
  const texts = setting.repeatable && typeof entry === "string" ? commaSeparated(entry) : list(entry);
  return { source: `${key} in the file`, origin: "file", texts };
}

function list(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).map(textOf);
}

/** An object, which no setting accepts, is written as JSON, so that the fault shows it. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function commaSeparated(value: string): string[] {
  return value.split(",").filter((part) => part.trim() !== "");
}
