import { once } from "node:events";
import { get as getHttp, type IncomingMessage } from "node:http";
import { get as getHttps } from "node:https";
import { json } from "node:stream/consumers";

import type { Config } from "../config.ts";

/** The maximum time of a request, in milliseconds. The service is on this machine. */
const ANSWER_MS = 2_000;
/** The addresses that stand for every address, and the address on which to reach a service that listens on them. */
const LOOPBACK: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

export interface Health {
  /** `ok`, or why the service accepts no runs. */
  readonly status: string;
  readonly isolation: string;
  readonly version: string;
}

/** Requests the health (`/healthz`) of a service with this configuration. @returns null if no caisson answers. */
export async function askHealth(config: Config): Promise<Health | null> {
  const { status, version, isolation } = await getJson(config, "/healthz");
  if (typeof status !== "string" || typeof version !== "string" || typeof isolation !== "string") return null;
  return { status, version, isolation };
}

/** Requests the ids of the keys that the service accepts, newest first. @returns null if no caisson answers. */
export async function askKeys(config: Config): Promise<readonly string[] | null> {
  const { keys } = await getJson(config, "/.well-known/jwks.json");
  return Array.isArray(keys) ? keys.map(({ kid }: { kid?: unknown }) => String(kid)) : null;
}

/** Sends a GET request. @returns the members of the JSON object in the answer, or an empty object if there is no answer. */
async function getJson(config: Config, path: string): Promise<Record<string, unknown>> {
  const options = { ...placeOf(config), path, timeout: ANSWER_MS };
  try {
    // The certificate may be for another name than the loopback address. The request has no secrets.
    const request = config.tlsCert === null ? getHttp(options) : getHttps({ ...options, rejectUnauthorized: false });
    request.on("timeout", () => request.destroy(new Error("timeout")));
    const [response] = (await once(request, "response")) as [IncomingMessage];
    return { ...((await json(response)) as object) };
  } catch {
    return {};
  }
}

/** Returns the address of a service with this configuration, as seen from this machine. */
export function placeOf({ host, port }: Config): { host: string; port: number } {
  return { host: LOOPBACK[host] ?? host, port };
}
