import { readFileSync } from "node:fs";
import { type ClientRequest, request as requestHttp, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import path from "node:path";

import type { Config } from "../config.ts";
import { placeOf } from "../doctor/ask.ts";

const TOKEN_VARIABLE = "CAISSON_TOKEN";

/** Starts a request to the service on this machine at the address of these settings. */
export function requestService(config: Config, options: RequestOptions): ClientRequest {
  const all = { ...placeOf(config), ...options, agent: false } as const;
  if (config.tlsCert === null) return requestHttp(all);
  // Only the holder of this certificate's key receives the token, so the name in the certificate does not matter.
  const ca = readFileSync(config.tlsCert);
  return requestHttps({ ...all, ca, allowPartialTrustChain: true, checkServerIdentity: () => undefined });
}

/**
 * Returns the token of the environment, or undefined. No flag sets it, because all users of the machine can read flags.
 */
export function tokenOfEnvironment(): string | undefined {
  return process.env[TOKEN_VARIABLE] || undefined;
}

/**
 * Returns the token of the environment, or the administrative token of the data folder. @throws {Error} if both are
 * absent.
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
    const message = `no administrative token: ${file} cannot be read; set --data, or the token in ${TOKEN_VARIABLE} (${why})`;
    throw new Error(message, { cause: error });
  }
}

/** Returns an error with the reason why there was no answer. */
export function unreached(config: Config, error: unknown): Error {
  const { host, port } = placeOf(config);
  const message = `no caisson answers at port ${port} of ${host}: ${(error as Error).message}`;
  return new Error(message, { cause: error });
}
