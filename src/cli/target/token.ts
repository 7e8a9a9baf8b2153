import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

import type { Config } from "../../config.ts";
import { UsageError } from "../exits.ts";

const TOKEN_VARIABLE = "CAISSON_TOKEN";

/**
 * Returns the token of the environment, or undefined. No flag sets it, because all users of the machine can read flags.
 */
export function tokenOfEnvironment(): string | undefined {
  const token = process.env[TOKEN_VARIABLE]?.trim() || undefined;
  return token === undefined ? undefined : checkedToken(token, TOKEN_VARIABLE);
}

/** @throws {UsageError} without the text, which may be a credential of another service, and which no header could have. */
export function checkedToken(text: string, source: string): string {
  const token = text.trim();
  if (/^[\w.-]+$/.test(token)) return token;
  if (/^Bearer\s/i.test(token)) throw new UsageError(`${source}: leave Bearer out; the token is the text after it`);
  if (token === "") throw new UsageError(`${source}: there is no token`);
  throw new UsageError(`${source}: the token has characters that no token of caisson has${instead(token)}`);
}

/** Returns what a text is that is no token, without the text. */
function instead(text: string): string {
  if (/^\$[({\w]/.test(text)) return ": it is a command or a variable of the shell; write it in double quotes";
  if (/^["']/.test(text)) return ": it is in quotes; leave them out";
  if (text.startsWith("{")) return ": it is JSON; give the member token of the answer";
  if (/^(?:~|\.{0,2})\/\S+$|[/\\]\S*\.token$/.test(text) || existsSync(text))
    return ': it is a path; write "$(cat PATH)"';
  return "";
}

/**
 * Returns the token of the environment, or the administrative token of the data folder. @throws {UsageError} if both
 * are absent.
 *
 * @param url the address that flags such as `--port` set, with which no stored login applies; null without these flags
 */
export function tokenOf({ data }: Config, url: string | null): string {
  const token = tokenOfEnvironment();
  if (token !== undefined) return token;
  const file = path.resolve(data, "admin.token");
  try {
    return checkedToken(readFileSync(file, "utf8"), file);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const isRefused = (error as NodeJS.ErrnoException).code === "EACCES";
    const why = isRefused ? "this user may not read it" : "the file does not exist";
    const login = url === null ? "run caisson login" : `for the token of caisson login, write --url ${url} only`;
    const message = `no administrative token: ${file} cannot be read; set --data, or the token in ${TOKEN_VARIABLE}, or ${login} (${why})`;
    throw new UsageError(message, { cause: error });
  }
}
