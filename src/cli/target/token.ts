import { readFileSync } from "node:fs";
import path from "node:path";

import type { Config } from "../../config.ts";
import { UsageError } from "../exits.ts";

const TOKEN_VARIABLE = "CAISSON_TOKEN";

/**
 * Returns the token of the environment, or undefined. No flag sets it, because all users of the machine can read flags.
 */
export function tokenOfEnvironment(): string | undefined {
  return process.env[TOKEN_VARIABLE] || undefined;
}

/**
 * Returns the token of the environment, or the administrative token of the data folder. @throws {UsageError} if both
 * are absent.
 */
export function tokenOf({ data }: Config): string {
  const token = tokenOfEnvironment();
  if (token !== undefined) return token;
  const file = path.resolve(data, "admin.token");
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    const isRefused = (error as NodeJS.ErrnoException).code === "EACCES";
    const why = isRefused ? "this user may not read it" : "the file does not exist";
    const message = `no administrative token: ${file} cannot be read; set --data, or the token in ${TOKEN_VARIABLE}, or run caisson login (${why})`;
    throw new UsageError(message, { cause: error });
  }
}
