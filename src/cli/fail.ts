import { ConfigError } from "../config/read.ts";
import { Problem } from "../errors.ts";

/**
 * Ends the command with an error: exit code 2 for invalid settings, otherwise 1.
 *
 * @param exitCode replaces these exit codes.
 */
export function fail(error: unknown, exitCode: number = error instanceof ConfigError ? 2 : 1): never {
  const message = error instanceof Error ? error.message : String(error);
  for (const line of message.split("\n")) process.stderr.write(`caisson: ${line}\n`);
  if (error instanceof Problem) {
    for (const line of faultLines(error.options.violations)) process.stderr.write(`caisson: ${line}\n`);
  }
  if (process.env["CAISSON_DEBUG"]) process.stderr.write(`${error instanceof Error ? error.stack : ""}\n`);
  process.exit(exitCode);
}

/** Returns a line for each fault of a problem with several faults. The detail contains a single fault. */
export function faultLines(violations: unknown): string[] {
  if (!Array.isArray(violations) || violations.length < 2) return [];
  return violations.map((violation: unknown) => {
    const { member, detail } = (violation ?? {}) as { member?: unknown; detail?: unknown };
    return typeof member === "string" && typeof detail === "string"
      ? `  ${member} ${detail}`
      : `  ${JSON.stringify(violation)}`;
  });
}
