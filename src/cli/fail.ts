import { ConfigError } from "../config/read.ts";
import { Problem } from "../errors.ts";

/**
 * Ends the command: with the faults of its settings (exit code 2), or with what went wrong (1).
 *
 * @param exitCode in place of those two.
 */
export function fail(error: unknown, exitCode: number = error instanceof ConfigError ? 2 : 1): never {
  const message = error instanceof Error ? error.message : String(error);
  for (const line of message.split("\n")) process.stderr.write(`caisson: ${line}\n`);
  if (error instanceof Problem) {
    for (const violation of error.options.violations ?? []) process.stderr.write(`  ${JSON.stringify(violation)}\n`);
  }
  if (process.env["CAISSON_DEBUG"]) process.stderr.write(`${error instanceof Error ? error.stack : ""}\n`);
  process.exit(exitCode);
}
