import { readFileSync } from "node:fs";

import { type Command, Option } from "commander";

import { type Config, SETTING_GROUPS } from "../config.ts";
import { ConfigError, type Origins, readSettings, variableName } from "../config/read.ts";
import type { Setting } from "../config/setting.ts";
import { formatDuration, formatSize } from "../units.ts";
import { parseJsonFile } from "./json-file.ts";

/**
 * Adds to a command a flag for each of these settings, under the heading of its group, and `--config`.
 *
 * @param heading replaces the headings of the groups, for a command with few settings
 */
export function addSettings(command: Command, keys: readonly (keyof Config)[], heading?: string): Command {
  const file = new Option("--config <file>", "JSON file of settings; flags and variables have precedence");
  command.addOption((heading === undefined ? file : file.helpGroup(`${heading}:`)).env("CAISSON_CONFIG"));
  const wanted = new Set<string>(keys);
  for (const [title, settings] of Object.entries(SETTING_GROUPS)) {
    for (const [key, setting] of Object.entries(settings)) {
      if (wanted.has(key)) command.addOption(optionFor(key, setting).helpGroup(`${heading ?? title}:`));
    }
  }
  return command;
}

function optionFor(key: string, setting: Setting<unknown>): Option {
  const option = new Option(setting.flag, `${setting.help} (${describe(setting, key)})`);
  // Commander only collects the texts. `readConfig` parses them, so that all faults are reported at once with their
  // source.
  if (setting.repeatable) option.argParser((value: string, before: string[] | undefined) => [...(before ?? []), value]);
  return option;
}

/** @throws {ConfigError} with every fault. */
export function settingsOf(command: Command): Config {
  return settingsWithOrigins(command).config;
}

/** Returns the settings, and where each was set. @throws {ConfigError} with every fault. */
export function settingsWithOrigins(command: Command): { readonly config: Config; readonly origins: Origins } {
  const { config: file, ...flags } = command.opts<Record<string, unknown>>();
  // Commander itself sets the option of a `--no-` flag to true.
  const fromCommandLine = Object.fromEntries(
    Object.entries(flags).filter(([key]) => command.getOptionValueSource(key) === "cli"),
  );
  return readSettings({
    flags: fromCommandLine,
    environment: process.env,
    file: typeof file === "string" ? readFile(file) : {},
  });
}

function readFile(file: string): Record<string, unknown> {
  try {
    const value: unknown = parseJsonFile(readFileSync(file, "utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
    throw new TypeError("it is not a JSON object");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const where = file.startsWith("/") ? "" : ` in ${process.cwd()}`;
    if (code === "ENOENT")
      throw new ConfigError(`--config ${file} cannot be read: there is no such file${where}`, { cause: error });
    const form =
      error instanceof SyntaxError ? '; JSON has names and texts in double quotes, such as {"port": 7070}' : "";
    throw new ConfigError(`--config ${file} cannot be read: ${message}${form}`, { cause: error });
  }
}

function describe(setting: Setting<unknown>, key: string): string {
  const { fallback } = setting;
  const isEmpty =
    fallback === null || typeof fallback === "boolean" || (typeof fallback === "object" && setting.repeatable);
  return isEmpty ? variableName(key) : `default: ${withUnit(setting, fallback)}; ${variableName(key)}`;
}

function withUnit({ flag }: Setting<unknown>, value: unknown): string {
  if (flag.endsWith("<duration>")) return formatDuration(Number(value));
  if (flag.endsWith("<size>")) return formatSize(Number(value));
  return String(value);
}
