/** Writes `docs/reference/settings.md`, which a test compares with the table of settings. */
import { writeFileSync } from "node:fs";

import { SETTING_GROUPS } from "../src/config.ts";
import { variableName } from "../src/config/read.ts";
import type { Setting } from "../src/config/setting.ts";
import { formatDuration, formatSize } from "../src/units.ts";

const HEAD = `# Settings

Generated from \`src/config.ts\` by \`npm run docs\`.

Each setting has a flag, a variable and a key in the JSON file of \`--config\` (\`CAISSON_CONFIG\`). The key is the flag in
camel case: \`--wall-limit 10s\`, \`CAISSON_WALL_LIMIT=10s\` and \`{"wallLimit": "10s"}\` are the same. The key may
also be the flag, with or without its dashes: \`{"wall-limit": "10s"}\`. Flags win over variables,
and variables win over the file. The service reports all faults in its settings together, each with its source, and does
not start. It reports a variable that begins with \`CAISSON_\` and is not a setting, and starts without it.

Durations have a unit (\`500ms\`, \`30s\`, \`5m\`, \`12h\`, \`7d\`), sizes too (\`64KiB\`, \`256MiB\`, \`2GiB\`). A setting marked "list" can
be given several times; in a variable, commas separate its values. \`--no-query-key\` sets \`CAISSON_QUERY_KEY\` to \`false\`.

A token family is a token that an administrator issued, with all tokens below it: see [Quotas of a family](tokens.md#quotas-of-a-family).
`;

/** Returns the page that documents every setting. */
export function settingsDocument(): string {
  const parts = Object.entries(SETTING_GROUPS).map(([title, settings]) => {
    const rows = Object.entries(settings).map(([key, setting]) => row(key, setting));
    return `## ${title}\n\n${table(rows)}`;
  });
  return [HEAD, ...parts].join("\n");
}

function row(key: string, setting: Setting<unknown>): string[] {
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

/** Escapes stars, which start emphasis, and bars, which start a cell. */
function escaped(text: string): string {
  return text.replaceAll(/[*|]/g, String.raw`\$&`);
}

/** Formats a table like the formatter of this project. */
function table(rows: readonly string[][]): string {
  const all = [["flag", "variable", "default", "meaning"], ...rows];
  const widths = all[0]!.map((_, column) => Math.max(...all.map((cells) => cells[column]!.length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(" | ")} |\n`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |\n`;
  return `${line(all[0]!)}${rule}${rows.map(line).join("")}`;
}

if (import.meta.main) writeFileSync("docs/reference/settings.md", settingsDocument());
