import { CaissonError } from "../../client/src/index.ts";
import { Problem } from "../errors.ts";
import { exitOf } from "./exits.ts";
import { printableLines } from "./print/printable.ts";
import { say } from "./print/say.ts";

/** Ends the command with an error, and with its exit code. @param exitCode replaces the exit code of the error. */
export function fail(error: unknown, exitCode: number = exitOf(error)): never {
  say(...errorLines(error));
  if (process.env["CAISSON_DEBUG"]) process.stderr.write(`${error instanceof Error ? error.stack : ""}\n`);
  process.exit(exitCode);
}

/** Returns an error as lines for a terminal: what is wrong, all faults, and the fix. */
export function errorLines(error: unknown): string[] {
  if (error instanceof CaissonError) {
    const { code, detail, hint, violations } = error;
    return [...printableLines(`${code}: ${detail}`), ...faultLines(violations), ...(hint === null ? [] : [hint])];
  }
  const lines = printableLines(error instanceof Error ? error.message : String(error));
  return error instanceof Problem ? [...lines, ...faultLines(error.options.violations)] : lines;
}

/** Returns a line for each fault of a problem with several faults. The detail contains a single fault. */
function faultLines(violations: unknown): string[] {
  if (!Array.isArray(violations) || violations.length < 2) return [];
  return violations.map((violation: unknown) => {
    const { member, detail } = (violation ?? {}) as { member?: unknown; detail?: unknown };
    return typeof member === "string" && typeof detail === "string"
      ? `  ${member} ${detail}`
      : `  ${JSON.stringify(violation)}`;
  });
}
