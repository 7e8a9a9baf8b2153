import { type ClientRequest, request as requestHttp, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";

import type { Config } from "../../config.ts";
import { ConfigError, isLoopback } from "../../config/read.ts";
import { tokenOfEnvironment, requestService, tokenOf } from "../reach.ts";
import type { RunBody } from "./code.ts";
import type { RunFlags } from "./flags.ts";

/** Sends a run to the service of these settings, or of `--url`. @throws {Error} before it sends anything. */
export function sendRun(config: Config, flags: RunFlags, { type, bytes }: RunBody): ClientRequest {
  const base = flags.url === undefined ? null : readBase(flags.url, config);
  const token = base ? tokenForUrl() : tokenOf(config);
  const options: RequestOptions = {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": type, "Content-Length": bytes.length },
  };
  const target = targetOf(flags);
  const request = base
    ? requestUrl(new URL(target, base), options)
    : requestService(config, { ...options, path: `/${target}` });
  request.end(bytes);
  return request;
}

function targetOf({ container, query = [] }: RunFlags): string {
  const pairs = query.map((pair) => {
    const at = pair.indexOf("=");
    if (at < 1) throw new ConfigError(`--query ${pair} is not name=value`);
    return [pair.slice(0, at), pair.slice(at + 1)] as [string, string];
  });
  const search = pairs.length === 0 ? "" : `?${new URLSearchParams(pairs).toString()}`;
  return `api/run/${encodeURIComponent(container)}${search}`;
}

/** @returns a URL whose path ends in `/`, so that a service below a path is reached. */
function readBase(text: string, { insecureHttp }: Config): URL {
  const url = URL.parse(text.endsWith("/") ? text : `${text}/`);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new ConfigError(`--url ${text} is not a URL of https or http`);
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (url.protocol === "https:" || isLoopback(host) || insecureHttp) return url;
  throw new ConfigError(`--url ${text}: the token would travel unencrypted; use https or --insecure-http`);
}

/** Returns the token for another service, which is never the administrative token of this machine's data folder. */
function tokenForUrl(): string {
  const token = tokenOfEnvironment();
  if (token === undefined) throw new ConfigError("--url needs a token of that service, in CAISSON_TOKEN");
  return token;
}

function requestUrl(url: URL, options: RequestOptions): ClientRequest {
  return url.protocol === "https:" ? requestHttps(url, options) : requestHttp(url, options);
}
