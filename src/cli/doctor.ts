import { Command } from "commander";

import { type Config, SETTINGS } from "../config.ts";
import type { Report } from "../doctor/examine.ts";
import { reportText } from "../doctor/report-text.ts";
import { VERSION } from "../http/headers.ts";
import { addExamples } from "./examples.ts";
import { fail } from "./fail.ts";
import { addSettings, settingsOf } from "./settings.ts";

export function doctorCommand(): Command {
  const command = new Command("doctor")
    .description(
      "test the sandbox that a service with these settings would have, and print the fix for each missing layer",
    )
    .option("--json", "print an object for programs");
  addExamples(command, ["doctor", "doctor --isolation namespaces --json"]);
  addSettings(command, Object.keys(SETTINGS) as (keyof Config)[]);
  return command.action(async () => {
    try {
      const config = settingsOf(command);
      const { examine } = await import("../doctor/examine.ts");
      const report = await examine(config);
      const text = command.opts<{ json?: true }>().json ? reportJson(report, config) : reportText(report);
      process.stdout.write(text, () => process.exit(report.ok ? 0 : 1));
    } catch (error) {
      fail(error);
    }
  });
}

/** The members are stable for programs. New members are optional. */
function reportJson({ ok, isolation, findings }: Report, config: Config): string {
  const layers = findings.map(({ layer, state, proof, remedy }) => {
    return { layer, ok: state !== "open", weak: state === "weak", proof, ...(remedy === undefined ? {} : { remedy }) };
  });
  return `${JSON.stringify({ ok, version: VERSION, configured: config.isolation, isolation, layers }, null, 2)}\n`;
}
