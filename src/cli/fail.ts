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
    for (const line of faultLines(error.options.violations)) process.stderr.write(`caisson: ${line}\n`);
  }
  if (process.env["CAISSON_DEBUG"]) process.stderr.write(`${error instanceof Error ? error.stack : ""}\n`);
  process.exit(exitCode);
}

/** A line for each fault of a problem that has several; the one of another stands in its detail. */
export function faultLines(violations: unknown): string[] {
  if (!Array.isArray(violations) || violations.length < 2) return [];
  return violations.map((violation: unknown) => {
    const { member, detail } = (violation ?? {}) as { member?: unknown; detail?: unknown };
    return typeof member === "string" && typeof detail === "string"
      ? `  ${member} ${detail}`
      : `  ${JSON.stringify(violation)}`;
  });
}
