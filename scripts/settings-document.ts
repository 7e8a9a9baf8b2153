/** Writes `docs/reference/settings.md`, which a test compares with the table of settings. */
import { writeFileSync } from "node:fs";

import { type Config, SETTINGS } from "../src/config.ts";
import { variableName } from "../src/config/read.ts";
import type { Setting } from "../src/config/setting.ts";
import { formatDuration, formatSize } from "../src/units.ts";

const HEAD = `# Settings

Generated from \`src/config.ts\` by \`npm run docs\`.

Each setting has a flag, a variable and a key in the JSON file of \`--config\` (\`CAISSON_CONFIG\`). The key is the flag in
camel case: \`--wall-limit 10s\`, \`CAISSON_WALL_LIMIT=10s\` and \`{"wallLimit": "10s"}\` are the same. Flags win over variables,
and variables win over the file. The service reports all faults in its settings together, each with its source, and does
not start.

Durations have a unit (\`500ms\`, \`30s\`, \`5m\`, \`12h\`, \`7d\`), sizes too (\`64KiB\`, \`256MiB\`, \`2GiB\`). A setting marked "list" can
be given several times; in a variable, commas separate its values. \`--no-query-key\` sets \`CAISSON_QUERY_KEY\` to \`false\`.
`;

/** Sections of the page, in reading order. `settingsDocument` requires each setting in exactly one of them. */
const SECTIONS: Readonly<Record<string, readonly (keyof Config)[]>> = {
  "Listening and TLS": ["host", "port", "tlsCert", "tlsKey", "trustProxy", "insecureHttp", "queryKey"],
  "Data, keys and users": ["data", "keys", "secretsKey", "user", "fsync", "logLevel", "killRevoked"],
  Sandbox: ["isolation", "cpuLimit", "memoryLimit", "threadLimit", "tmpLimit", "descriptorLimit"],
  "Limits of one run": [
    "wallLimit",
    "blockLimit",
    "streamLimit",
    "codeLimit",
    "resultLimit",
    "jsonDepthLimit",
    "logLimit",
    "logRate",
  ],
  "Network of tasks": ["egress", "egressAllow", "egressPorts", "egressConnections", "egressBytes", "egressTime"],
  "Code from a URL": ["taskUrlLimit", "taskUrlCache", "taskUrlCacheEntries", "taskUrlCacheTime"],
  "Containers and guests": [
    "concurrency",
    "maxContainers",
    "containerParties",
    "containerTasks",
    "idleLimit",
    "pool",
    "poolWindow",
    "memoryReserve",
  ],
  "Rate limits": ["containerLimit", "tokenLimit", "authLimit"],
  "Caps and quotas of tokens": [
    "tokenContainers",
    "tokenConcurrency",
    "tokenNewContainers",
    "familyTokens",
    "familyIssues",
    "familySecrets",
    "familyTasks",
    "familyTaskBytes",
  ],
  "Several nodes": ["redis", "redisPasswordFile", "redisCa", "realm", "onStoreLoss", "revocationLag"],
};

/**
 * The page that documents every setting.
 *
 * @throws {TypeError} when a setting is in no section, or in several.
 */
export function settingsDocument(): string {
  const listed = Object.values(SECTIONS).flat();
  for (const key of Object.keys(SETTINGS) as (keyof Config)[]) {
    const times = listed.filter((each) => each === key).length;
    if (times !== 1) throw new TypeError(`scripts/settings-document.ts lists ${key} in ${times} sections, not in one`);
  }
  const parts = Object.entries(SECTIONS).map(([title, keys]) => `## ${title}\n\n${table(keys.map(row))}`);
  return [HEAD, ...parts].join("\n");
}

function row(key: keyof Config): string[] {
  const setting: Setting<unknown> = SETTINGS[key];
  const meaning = `${setting.help}${setting.repeatable ? " (list)" : ""}`;
  return [`\`${setting.flag}\``, `\`${variableName(key)}\``, fallbackText(setting), escaped(meaning)];
}

function fallbackText({ flag, fallback }: Setting<unknown>): string {
  if (fallback === null) return "none";
  if (typeof fallback === "boolean") return `\`${String(fallback)}\``;
  if (Array.isArray(fallback)) return fallback.length === 0 ? "none" : `\`${fallback.join(",")}\``;
  if (typeof fallback === "object") {
    const pairs = Object.entries(fallback).map(([name, value]) => `${name}=${String(value)}`);
    return pairs.length === 0 ? "none" : `\`${pairs.join(",")}\``;
  }
  if (flag.endsWith("<duration>")) return `\`${formatDuration(Number(fallback))}\``;
  if (flag.endsWith("<size>")) return `\`${formatSize(Number(fallback))}\``;
  if (typeof fallback !== "string" && typeof fallback !== "number") throw new TypeError(`${flag} has an odd default`);
  return `\`${fallback}\``;
}

/** A star would begin emphasis, a bar would begin a cell. */
function escaped(text: string): string {
  return text.replaceAll(/[*|]/g, String.raw`\$&`);
}

/** Padded as the formatter of this project pads tables. */
function table(rows: readonly string[][]): string {
  const all = [["flag", "variable", "default", "meaning"], ...rows];
  const widths = all[0]!.map((_, column) => Math.max(...all.map((cells) => cells[column]!.length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(" | ")} |\n`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |\n`;
  return `${line(all[0]!)}${rule}${rows.map(line).join("")}`;
}

if (import.meta.main) writeFileSync("docs/reference/settings.md", settingsDocument());
