import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type IncomingMessage, request as requestHttp, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import path from "node:path";
import { text } from "node:stream/consumers";

import type { Config } from "../config.ts";
import { placeOf } from "../doctor/ask.ts";

const ANSWER_MS = 10_000;
const TOKEN_VARIABLE = "CAISSON_TOKEN";

/**
 * Asks the service that listens where these settings say, as an administrator.
 *
 * @returns what it answered, read as JSON
 * @throws {Error} with what the service has against it, or why it was not asked.
 */
export async function administer(config: Config, method: string, target: string, body?: unknown): Promise<unknown> {
  const request = send(config, { method, path: target, headers: { Authorization: `Bearer ${tokenOf(config)}` } });
  request.on("timeout", () => request.destroy(new Error(`it has not answered for ${ANSWER_MS / 1_000} s`)));
  request.end(body === undefined ? undefined : JSON.stringify(body));
  let answer: string;
  let status: number;
  try {
    const [response] = (await once(request, "response")) as [IncomingMessage];
    status = response.statusCode!;
    answer = await text(response);
  } catch (error) {
    const { host, port } = placeOf(config);
    const message = `no caisson answers at port ${port} of ${host}: ${(error as Error).message}`;
    throw new Error(message, { cause: error });
  }
  const value = parse(answer);
  if (status >= 200 && status < 300) return value;
  const { detail, hint } = (value ?? {}) as { detail?: unknown; hint?: unknown };
  const told = [detail, hint].filter((line) => typeof line === "string");
  throw new Error(told.length > 0 ? told.join("\n") : `the service answered ${status}`);
}

function send(config: Config, options: RequestOptions): ReturnType<typeof requestHttp> {
  const all = { ...placeOf(config), ...options, timeout: ANSWER_MS, agent: false } as const;
  if (config.tlsCert === null) return requestHttp(all);
  // The token goes to whoever holds the key of this very certificate, whatever name it is for.
  const ca = readFileSync(config.tlsCert);
  return requestHttps({ ...all, ca, allowPartialTrustChain: true, checkServerIdentity: () => undefined });
}

/** Not by a flag: everybody on the machine can read those. */
function tokenOf({ data }: Config): string {
  const given = process.env[TOKEN_VARIABLE];
  if (given) return given;
  const file = path.resolve(data, "admin.token");
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    const message = `no administrative token: ${file} cannot be read; give --data, or the token in ${TOKEN_VARIABLE}`;
    throw new Error(message, { cause: error });
  }
}

function parse(answer: string): unknown {
  try {
    return JSON.parse(answer);
  } catch {
    return null;
  }
}
