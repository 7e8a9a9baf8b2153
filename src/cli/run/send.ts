import { type ClientRequest, request as requestHttp, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";

import type { Config } from "../../config.ts";
import { ConfigError, isLoopback } from "../../config/read.ts";
import { givenToken, requestService, tokenOf } from "../reach.ts";
import type { RunBody } from "./code.ts";
import type { RunFlags } from "./flags.ts";

/** Sends a run to the service of these settings, or to the one that `--url` names. @throws {Error} before anything is sent. */
export function sendRun(config: Config, flags: RunFlags, { type, bytes }: RunBody): ClientRequest {
  const elsewhere = flags.url === undefined ? null : readBase(flags.url, config);
  const token = elsewhere ? tokenForElsewhere() : tokenOf(config);
  const options: RequestOptions = {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": type, "Content-Length": bytes.length },
  };
  const target = targetOf(flags);
  const request = elsewhere
    ? requestElsewhere(new URL(target, elsewhere), options)
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

/** @returns with a path that ends in `/`, so that a service below another path is found there. */
function readBase(text: string, { insecureHttp }: Config): URL {
  const url = URL.parse(text.endsWith("/") ? text : `${text}/`);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new ConfigError(`--url ${text} is not a URL of https or http`);
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (url.protocol === "https:" || isLoopback(host) || insecureHttp) return url;
  throw new ConfigError(`--url ${text}: the token would travel in the clear; use https, or say --insecure-http`);
}

/** The administrative token of this machine's folder is for no other service. */
function tokenForElsewhere(): string {
  const token = givenToken();
  if (token === undefined) throw new ConfigError("--url needs a token of that service, in CAISSON_TOKEN");
  return token;
}

function requestElsewhere(url: URL, options: RequestOptions): ClientRequest {
  return url.protocol === "https:" ? requestHttps(url, options) : requestHttp(url, options);
}
