import { isIP } from "node:net";
import path from "node:path";

import { parseDuration, parseSize } from "./units.ts";

/** Positive integers by window; a window that is not named is not limited. */
export type WindowLimits = Readonly<Record<string, number>>;

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Everything that an operator can set. Times are in milliseconds, sizes in bytes. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly data: string;
  readonly keys: string | null;
  readonly user: string | null;
  readonly isolation: "auto" | "namespaces" | "none";
  readonly egress: "none" | "public";
  readonly egressAllow: readonly HostPort[];
  readonly egressPorts: readonly number[];
  readonly egressConnections: number;
  readonly egressBytes: number;
  readonly egressTime: number;
  readonly wallLimit: number;
  readonly blockLimit: number;
  readonly streamLimit: number;
  readonly idleLimit: number;
  readonly cpuLimit: number;
  readonly memoryLimit: number;
  readonly threadLimit: number;
  readonly tmpLimit: number;
  readonly descriptorLimit: number;
  readonly logLimit: number;
  readonly logRate: number;
  readonly codeLimit: number;
  readonly taskUrlLimit: number;
  readonly jsonDepthLimit: number;
  readonly resultLimit: number;
  readonly concurrency: number;
  readonly maxContainers: number | null;
  readonly containerParties: number;
  readonly memoryReserve: number;
  readonly tokenContainers: number;
  readonly tokenConcurrency: number;
  readonly tokenNewContainers: number;
  readonly pool: number;
  readonly containerLimit: WindowLimits;
  readonly tokenLimit: WindowLimits;
  readonly queryKey: boolean;
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
  readonly trustProxy: string | null;
  readonly insecureHttp: boolean;
  readonly fsync: boolean;
  readonly logLevel: "debug" | "info" | "warn" | "error" | "silent";
}

/** How one setting is written, read and explained. */
export interface Setting<T> {
  /** As given on the command line, with its argument. A flag that begins with `--no-` is on unless it is given. */
  readonly flag: string;
  readonly fallback: T;
  /** For the help text: what it sets, and the attack that a limit stops. */
  readonly help: string;
  /** May be given more than once; in a variable, separated by commas. */
  readonly repeatable: boolean;
  /** @throws {TypeError} that says what is wrong with the text. */
  readonly read: (texts: readonly string[]) => T;
}

/** The one table of settings, defaults and limits. Flag, variable and key in the file are made from the names in it. */
export const SETTINGS: { readonly [K in keyof Config]: Setting<Config[K]> } = {
  host: one("--host <address>", "127.0.0.1", "address to listen on", text),
  port: one("--port <number>", 7070, "port to listen on; 0 takes any free one", integer(0, 65_535)),
  data: one("--data <folder>", "./data", "where keys, tokens and counts are kept", text),
  keys: one<string | null>("--keys <file>", null, "signing keys; without it those of the data folder", file),
  user: one<string | null>(
    "--user <name>",
    null,
    "who the service becomes when it is started as root; without it the owner of the data folder",
    text,
  ),
  isolation: one(
    "--isolation <rung>",
    "auto",
    "the wall around tasks; none is for development only",
    choice("auto", "namespaces", "none"),
  ),
  egress: one("--egress <policy>", "public", "where tasks and task_url may connect to", choice("none", "public")),
  egressAllow: many("--egress-allow <host:port>", [], "a place that may be reached although it is private", hostPorts),
  egressPorts: many<readonly number[]>(
    "--egress-ports <ports>",
    [80, 443, 8_080, 8_443],
    "ports of public places; stops tasks that send mail or reach for databases; default 80,443,8080,8443",
    ports,
  ),
  egressConnections: one(
    "--egress-connections <number>",
    64,
    "open at once, a run; stops a task that floods a place or takes all descriptors",
    integer(1, 256),
  ),
  egressBytes: one(
    "--egress-bytes <size>",
    256 * 2 ** 20,
    "sent and received, a run; stops a task that uses up the line",
    size(1),
  ),
  egressTime: one(
    "--egress-time <duration>",
    300_000,
    "of a connection; stops one that is held open for ever",
    duration(100),
  ),

  wallLimit: one("--wall-limit <duration>", 30_000, "stops a run that never ends", duration(10)),
  blockLimit: one(
    "--block-limit <duration>",
    2_000,
    "stops a run that blocks the event loop of its container",
    duration(100),
  ),
  streamLimit: one("--stream-limit <duration>", 300_000, "stops a result that streams for ever", duration(10)),
  idleLimit: one(
    "--idle-limit <duration>",
    60_000,
    "stops containers that were used once and hold memory",
    duration(100),
  ),
  cpuLimit: one("--cpu-limit <cores>", 1, "stops a container that takes all processors", decimal(0.05, 1_024)),
  memoryLimit: one(
    "--memory-limit <size>",
    256 * 2 ** 20,
    "stops a container that takes all memory",
    size(64 * 2 ** 20),
  ),
  threadLimit: one("--thread-limit <number>", 64, "stops a container that takes all threads", integer(16, 4_096)),
  tmpLimit: one("--tmp-limit <size>", 64 * 2 ** 20, "stops a container that fills its temporary disk", size(2 ** 20)),
  descriptorLimit: one(
    "--descriptor-limit <number>",
    128,
    "stops a container that takes all descriptors of the host",
    integer(64, 65_536),
  ),
  logLimit: one("--log-limit <size>", 256 * 2 ** 10, "of a run; stops one that fills the log", size(1_024)),
  logRate: one(
    "--log-rate <lines>",
    1_000,
    "a second, of a run; stops one that floods those who read the log",
    integer(1, 1_000_000),
  ),
  codeLimit: one("--code-limit <size>", 2 ** 20, "stops bodies that exhaust the service's memory", size(1)),
  taskUrlLimit: one("--task-url-limit <characters>", 2_048, "stops a task_url of any length", integer(16, 16_000)),
  jsonDepthLimit: one("--json-depth-limit <levels>", 64, "stops JSON that exhausts the stack", integer(1, 1_000)),
  resultLimit: one("--result-limit <size>", 6 * 2 ** 20, "stops results that exhaust the service's memory", size(1)),
  concurrency: one("--concurrency <number>", 64, "stops a container that holds all places", integer(1, 10_000)),
  maxContainers: one<number | null>(
    "--max-containers <number>",
    null,
    "stops containers that take all memory",
    integer(1, 100_000),
  ),
  containerParties: one(
    "--container-parties <number>",
    32,
    "stops a container that many tokens with code of their own share from taking all guests",
    integer(1, 100_000),
  ),
  memoryReserve: one(
    "--memory-reserve <size>",
    128 * 2 ** 20,
    "of the machine; below it idle containers go and none come: stops many small ones that together take all memory",
    size(0),
  ),
  tokenContainers: one(
    "--token-containers <number>",
    16,
    "alive for one token, those below it and administrators too: stops one that keeps a thousand names alive",
    integer(1, 100_000),
  ),
  tokenConcurrency: one(
    "--token-concurrency <number>",
    128,
    "runs in flight of one token, those below it and administrators too: stops one that holds the places of many",
    integer(1, 1_000_000),
  ),
  tokenNewContainers: one(
    "--token-new-containers <number>",
    60,
    "coming alive a minute for one token, those below it and administrators too: stops one that walks through names",
    integer(1, 1_000_000),
  ),
  pool: one("--pool <number>", 4, "blank guests kept warm for containers that come", integer(0, 1_000)),

  containerLimit: many("--container-limit <window=runs>", {}, "limit of every container", limits),
  tokenLimit: many("--token-limit <window=runs>", {}, "limit of every token", limits),
  queryKey: one("--no-query-key", true, "take tokens from the Authorization header only", boolean),
  tlsCert: one<string | null>("--tls-cert <file>", null, "certificate chain, PEM", file),
  tlsKey: one<string | null>("--tls-key <file>", null, "private key of the certificate, PEM", file),
  trustProxy: one<string | null>(
    "--trust-proxy <cidr>",
    null,
    "a proxy that terminates TLS in front of the service",
    cidr,
  ),
  insecureHttp: one("--insecure-http", false, "listen beyond loopback without TLS", boolean),
  fsync: one("--fsync", false, "keep counts through a loss of power", boolean),
  logLevel: one(
    "--log-level <level>",
    "info",
    "how much is logged",
    choice("debug", "info", "warn", "error", "silent"),
  ),
};

/** The variable that sets what a key of the table names: `wallLimit` is `CAISSON_WALL_LIMIT`. */
export function variableName(key: string): string {
  return `CAISSON_${key.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

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
  if (faults.length > 0) throw new ConfigError(faults.join("\n"));
  return Object.freeze(config) as unknown as Config;
}

/** Loopback by name or number, the only place where a token may travel in the clear without being asked for. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function contradictions(config: Config): string[] {
  const faults = [];
  if ((config.tlsCert === null) !== (config.tlsKey === null)) faults.push("--tls-cert and --tls-key go together");
  if (config.isolation === "none" && !isLoopback(config.host)) {
    faults.push(`--isolation none has no wall, so it listens on loopback only, and not on --host ${config.host}`);
  }
  const safe = isLoopback(config.host) || config.tlsCert !== null || config.trustProxy !== null || config.insecureHttp;
  if (!safe) {
    faults.push(
      `--host ${config.host} is not loopback: tokens would travel in the clear; ` +
        "give --tls-cert and --tls-key, --trust-proxy, or say --insecure-http",
    );
  }
  return faults;
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

function one<T>(flag: string, fallback: T, help: string, read: (text: string) => T): Setting<T> {
  return { flag, fallback, help, repeatable: false, read: (texts) => read(texts.at(-1) ?? "") };
}

function many<T>(flag: string, fallback: T, help: string, read: (texts: readonly string[]) => T): Setting<T> {
  return { flag, fallback, help, repeatable: true, read };
}

function text(given: string): string {
  if (given === "") throw new TypeError("it is empty");
  return given;
}

/** Absolute from here on: the service may move to another folder. */
function file(given: string): string {
  return path.resolve(text(given));
}

function boolean(given: string): boolean {
  return choice("true", "false")(given) === "true";
}

function choice<const T extends string>(...choices: T[]): (given: string) => T {
  return (given) => {
    const found = choices.find((each) => each === given);
    if (found === undefined) throw new TypeError(`${JSON.stringify(given)} is not one of ${choices.join(", ")}`);
    return found;
  };
}

function decimal(least: number, most: number): (given: string) => number {
  return (given) => {
    const value = /^\d+(\.\d+)?$/.test(given) ? Number(given) : Number.NaN;
    if (!(value >= least && value <= most)) {
      throw new TypeError(`${JSON.stringify(given)} is not a number from ${least} to ${most}`);
    }
    return value;
  };
}

function integer(least: number, most: number): (given: string) => number {
  return (given) => {
    if (!/^\d+$/.test(given)) throw new TypeError(`${JSON.stringify(given)} is not a whole number`);
    return decimal(least, most)(given);
  };
}

function duration(leastMs: number): (given: string) => number {
  return (given) => {
    const value = parseDuration(given);
    // Node's timers take 31 bits; a longer limit would fire at once.
    if (value < leastMs || value > 2 ** 31 - 1) throw new TypeError(`${given} is not between ${leastMs}ms and 24d`);
    return value;
  };
}

function size(leastBytes: number): (given: string) => number {
  return (given) => {
    const value = parseSize(given);
    if (value < leastBytes) throw new TypeError(`${given} is less than the ${leastBytes} bytes that are needed`);
    return value;
  };
}

function cidr(given: string): string {
  const [address = "", prefix = "", ...rest] = given.split("/");
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)]!;
  if (rest.length > 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > longest) {
    throw new TypeError(`${JSON.stringify(given)} is not a CIDR range such as 10.0.0.0/8`);
  }
  return given;
}

function hostPorts(texts: readonly string[]): HostPort[] {
  return texts.map((given) => {
    const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s/]+)):(\d+)$/.exec(given.trim());
    if (!match) throw new TypeError(`${JSON.stringify(given)} is not host:port`);
    return { host: (match[1] ?? match[2])!, port: integer(1, 65_535)(match[3]!) };
  });
}

function ports(texts: readonly string[]): number[] {
  return texts.flatMap((given) => given.split(",")).map((given) => integer(1, 65_535)(given.trim()));
}

function limits(texts: readonly string[]): WindowLimits {
  const windows = choice("second", "minute", "hour", "day", "week", "month");
  return Object.fromEntries(
    texts.map((given) => {
      const [window, runs, ...rest] = given.trim().split("=");
      if (runs === undefined || rest.length > 0) throw new TypeError(`${JSON.stringify(given)} is not window=runs`);
      return [windows(window!), integer(1, 2 ** 31 - 1)(runs)];
    }),
  );
}
