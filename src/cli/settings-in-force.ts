import { Command } from "commander";

import type { System } from "../../client/src/index.ts";
import { table } from "./print/table.ts";
import { remote } from "./remote.ts";

interface SettingsFlags {
  readonly all?: true;
}

const ORIGINS: Readonly<Record<System["settings"][number]["setBy"], string>> = {
  default: "default",
  flag: "flag",
  variable: "variable",
  file: "file of --config",
};

export function settingsCommand(): Command {
  const command = new Command("settings")
    .description("print the settings in force of a service that differ from their defaults, and where each was set")
    .option("--all", "print all settings");
  const examples = ["settings", "settings --all", "settings --json"];
  return remote<SettingsFlags>(command, examples, async ({ caisson, flags, print }) => {
    const { settings } = await caisson.system();
    const shown = flags.all ? settings : settings.filter(({ setBy }) => setBy !== "default");
    print(settings, () => settingsText(shown));
  });
}

function settingsText(settings: System["settings"]): string {
  if (settings.length === 0) return "all settings have their defaults\n";
  return table(
    [{ head: "setting" }, { head: "value" }, { head: "set by" }, { head: "default" }],
    settings.map(({ flag, value, setBy, default: fallback }) => [flag, value ?? "-", ORIGINS[setBy], fallback ?? "-"]),
  );
}
