import { once } from "node:events";
import { get as getHttp, type IncomingMessage } from "node:http";
import { get as getHttps } from "node:https";
import { json } from "node:stream/consumers";

import type { Config } from "../config.ts";

const ANSWER_MS = 2_000;
/** What a service listens on that listens on every address, and where it is then found. */
const LOOPBACK: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

export interface Health {
  /** `ok`, or why it takes no runs. */
  readonly status: string;
  readonly isolation: string;
  readonly version: string;
}

/** What a caisson that listens where this configuration says tells of itself (`/healthz`), or null. */
export async function askHealth(config: Config): Promise<Health | null> {
  const { status, version, isolation } = await ask(config, "/healthz");
  if (typeof status !== "string" || typeof version !== "string" || typeof isolation !== "string") return null;
  return { status, version, isolation };
}

/** The names of the keys that it takes tokens of, the one that was made last first; or null when none answers. */
export async function askKeys(config: Config): Promise<readonly string[] | null> {
  const { keys } = await ask(config, "/.well-known/jwks.json");
  return Array.isArray(keys) ? keys.map(({ kid }: { kid?: unknown }) => String(kid)) : null;
}

/** What stands in the object that is answered; nothing when there is no answer. */
async function ask(config: Config, path: string): Promise<Record<string, unknown>> {
  const options = { ...placeOf(config), path, timeout: ANSWER_MS };
  try {
    // Its certificate may be for a name that this machine does not go by; nothing secret is sent.
    const request = config.tlsCert === null ? getHttp(options) : getHttps({ ...options, rejectUnauthorized: false });
    request.on("timeout", () => request.destroy(new Error("timeout")));
    const [response] = (await once(request, "response")) as [IncomingMessage];
    return { ...((await json(response)) as object) };
  } catch {
    return {};
  }
}

/** Where a service with this configuration is found from this machine. */
export function placeOf({ host, port }: Config): { host: string; port: number } {
  return { host: LOOPBACK[host] ?? host, port };
}
