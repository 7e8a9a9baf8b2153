import { type Config, SETTING_GROUPS } from "../config.ts";
import { formatDuration, formatSize } from "../units.ts";
import { describeTarget, type DrainTarget } from "./drain-target.ts";
import { type Origins, variableName } from "./read.ts";
import { type RedisPlace, shownUrl } from "./redis-place.ts";
import type { Setting } from "./setting.ts";

/** A setting of a running service. */
export interface SettingInForce {
  readonly name: string;
  /** The heading of the settings page under which it is. */
  readonly group: string;
  readonly flag: string;
  readonly variable: string;
  /** The value as its variable would have it, without secrets; null if there is none. */
  readonly value: string | null;
  readonly default: string | null;
  readonly setBy: "default" | Origins[string];
  readonly help: string;
}

/** Returns all settings with their values and their origins, for administrators. */
export function settingsInForce(config: Config, origins: Origins): SettingInForce[] {
  return Object.entries(SETTING_GROUPS).flatMap(([group, settings]) =>
    Object.entries(settings).map(([name, setting]) => ({
      name,
      group,
      flag: setting.flag.split(" ")[0]!,
      variable: variableName(name),
      value: textOf(config[name as keyof Config], setting),
      default: textOf(setting.fallback, setting),
      setBy: origins[name] ?? "default",
      help: setting.help,
    })),
  );
}

function textOf(value: unknown, setting: Setting<unknown>): string | null {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return value.length === 0 ? null : value.map((each) => oneText(each, setting)).join(",");
  if (typeof value === "object" && Object.keys(value).length === 0) return null;
  return oneText(value, setting);
}

function oneText(value: unknown, { flag, repeatable }: Setting<unknown>): string {
  if (flag.endsWith("<duration>")) return formatDuration(Number(value));
  if (flag.endsWith("<size>")) return formatSize(Number(value));
  if (typeof value !== "object" || value === null) return withoutUser(String(value));
  if (isPlace(value)) return shownUrl(value);
  if (isTarget(value)) return value.kind === "file" ? `file:${value.path}` : describeTarget(value);
  if ("scope" in value && "value" in value) return `${String(value.scope)}=${withoutUser(String(value.value))}`;
  const entries = Object.entries(value);
  if ("host" in value && "port" in value) return hostPort(String(value.host), Number(value.port));
  if ("scope" in value && "value" in value) return `${String(value.scope)}=${String(value.value)}`;
  // Limits by window. Any other object may contain a secret.
  const isPlain = repeatable && entries.every(([, each]) => typeof each === "number");
  return isPlain ? entries.map(([name, each]) => `${name}=${each}`).join(",") : "(set)";
}

function hostPort(host: string, port: number): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Removes the user and the password of a URL. */
function withoutUser(text: string): string {
  return text.replaceAll(/(\b[a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/gi, "$1(hidden)@");
}

function isPlace(value: object): value is RedisPlace {
  return "hosts" in value;
}

function isTarget(value: object): value is DrainTarget {
  return "kind" in value && !("hosts" in value);
}
