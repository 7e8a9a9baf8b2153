import { readFileSync } from "node:fs";
import { type ClientRequest, request as requestHttp, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import path from "node:path";

import type { Config } from "../config.ts";
import { placeOf } from "../doctor/ask.ts";

const TOKEN_VARIABLE = "CAISSON_TOKEN";

/** Begins a request to the service that listens on this machine where these settings say. */
export function requestService(config: Config, options: RequestOptions): ClientRequest {
  const all = { ...placeOf(config), ...options, agent: false } as const;
  if (config.tlsCert === null) return requestHttp(all);
  // The token goes to whoever holds the key of this very certificate, whatever name it is for.
  const ca = readFileSync(config.tlsCert);
  return requestHttps({ ...all, ca, allowPartialTrustChain: true, checkServerIdentity: () => undefined });
}

/** The token of the environment, or undefined. Not by a flag: everybody on the machine can read those. */
export function givenToken(): string | undefined {
  return process.env[TOKEN_VARIABLE] || undefined;
}

/** The token of the environment, or else the administrative one of the data folder. @throws {Error} when there is none. */
export function tokenOf({ data }: Config): string {
  const given = givenToken();
  if (given !== undefined) return given;
  const file = path.resolve(data, "admin.token");
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    const message = `no administrative token: ${file} cannot be read; give --data, or the token in ${TOKEN_VARIABLE}`;
    throw new Error(message, { cause: error });
  }
}

/** Says why there was no answer. */
export function unreached(config: Config, error: unknown): Error {
  const { host, port } = placeOf(config);
  const message = `no caisson answers at port ${port} of ${host}: ${(error as Error).message}`;
  return new Error(message, { cause: error });
}
