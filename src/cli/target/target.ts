import { readFileSync } from "node:fs";
import path from "node:path";

import type { Config } from "../../config.ts";
import { isLoopback } from "../../config/read.ts";
import { placeOf } from "../../doctor/ask.ts";
import { UsageError } from "../exits.ts";
import { type Profile, profileOf, type Profiles, readProfiles } from "./profiles.ts";
import { PROJECT_FILE, urlOfProject } from "./project-file.ts";
import { fetchWith } from "./service-fetch.ts";
import { tokenOf, tokenOfEnvironment } from "./token.ts";

/** The service that a command talks to. */
export interface Target {
  readonly url: string;
  /** Null for a command that needs none. */
  readonly token: string | null;
  /** The name of the profile, or null. */
  readonly profile: string | null;
  /** The source of the address, for messages. */
  readonly origin: "flag" | "variable" | "project" | "profile" | "local";
  readonly fetch: typeof fetch;
}

export interface TargetRequest {
  readonly url?: string | undefined;
  readonly profile?: string | undefined;
  /** Whether a flag sets the address or the data folder of the service of this machine. */
  readonly hasLocalFlags: boolean;
  /** The folder of the project. */
  readonly folder: string;
  /** Whether the command needs no token. */
  readonly anonymous?: boolean;
  /** Reads the settings of the service of this machine. @throws {ConfigError} */
  readonly config: () => Config;
  readonly insecureHttp: boolean;
}

/** Settings that name the service of this machine. */
export const LOCAL_SETTINGS = ["host", "port", "data", "tlsCert", "tlsKey"] as const;

/**
 * Chooses the service and the token. The first of these that is set applies: `--url` or `--profile`; flags for the service of this
 * machine, such as `--port`; `CAISSON_URL` or `CAISSON_PROFILE`; the `caisson.json` of the folder; the profile of the latest login;
 * the service of this machine.
 *
 * A token is sent only to the service that it belongs to: that of a profile to the URL of this profile, that of the data folder
 * to this machine. `CAISSON_TOKEN` goes to the service that the user has named, by a flag, a variable or `caisson login`. It does not
 * go to the URL of a `caisson.json` alone, because a file that came with other files could name any server.
 *
 * @throws {UsageError} if they contradict each other, or if there is no token.
 */
export function chooseTarget(request: TargetRequest): Target {
  const { url, profile, hasLocalFlags } = request;
  if (url !== undefined && profile !== undefined) throw new UsageError("--url and --profile exclude each other");
  if (hasLocalFlags && (url ?? profile) !== undefined) {
    const flag = url === undefined ? "--profile" : "--url";
    throw new UsageError(`${flag} and the settings of a service on this machine, such as --port, exclude each other`);
  }
  if (url !== undefined) return atUrl(request, url, "--url", "flag");
  if (profile !== undefined) return atProfile(request, readProfiles(), profile, "--profile", "flag");
  if (hasLocalFlags) return here(request);
  const { CAISSON_URL: urlOfShell, CAISSON_PROFILE: profileOfShell } = process.env;
  if (urlOfShell && profileOfShell) throw new UsageError("CAISSON_URL and CAISSON_PROFILE exclude each other");
  if (urlOfShell) return atUrl(request, urlOfShell, "CAISSON_URL", "variable");
  if (profileOfShell) return atProfile(request, readProfiles(), profileOfShell, "CAISSON_PROFILE", "variable");
  const urlOfFolder = urlOfProject(request.folder);
  if (urlOfFolder !== null) return atUrl(request, urlOfFolder, `url in ${PROJECT_FILE}`, "project");
  const profiles = readProfiles();
  if (profiles.current !== null) return atProfile(request, profiles, profiles.current, "the stored profile", "profile");
  return here(request);
}

function atUrl(request: TargetRequest, text: string, source: string, origin: Target["origin"]): Target {
  const url = readUrl(text, source);
  if (request.anonymous) return { url, token: null, profile: null, origin, fetch: fetchWith() };
  const given = tokenOfEnvironment();
  const stored = given === undefined || origin === "project" ? storedFor(url) : null;
  // A project can name any server. A login for the same URL shows that the user trusts it.
  if (given !== undefined && origin === "project" && stored === null)
    throw new UsageError(
      `CAISSON_TOKEN is not sent to the ${source} alone; if it is for ${url}, add --url ${url}, or set CAISSON_URL`,
    );
  mustBeEncrypted(url, source, request.insecureHttp || stored?.profile.insecureHttp === true);
  const token = given ?? stored?.profile.token;
  if (token === undefined)
    throw new UsageError(
      url.endsWith("/api")
        ? `there is no token for ${url} (${source}); leave /api out: ${source} ${url.slice(0, -"/api".length)}`
        : `there is no token for ${url} (${source}); run caisson login --url ${url}, or set CAISSON_TOKEN`,
    );
  return { url, token, profile: given === undefined ? (stored?.name ?? null) : null, origin, fetch: fetchWith() };
}

function atProfile(
  request: TargetRequest,
  profiles: Profiles,
  name: string,
  source: string,
  origin: Target["origin"],
): Target {
  const { url, token, insecureHttp } = profileOf(profiles, name, source);
  if (request.anonymous) return { url, token: null, profile: name, origin, fetch: fetchWith() };
  mustBeEncrypted(url, `profile ${name}`, request.insecureHttp || insecureHttp === true);
  return { url, token: tokenOfEnvironment() ?? token, profile: name, origin, fetch: fetchWith() };
}

/** Returns the service of this machine, with the token of the environment or of its data folder. */
function here({ config: read, anonymous, hasLocalFlags }: TargetRequest): Target {
  const config = read();
  const { host, port } = placeOf(config);
  const name = host.includes(":") ? `[${host}]` : host;
  const certificate = config.tlsCert === null ? null : readFileSync(path.resolve(config.tlsCert));
  const url = `${certificate === null ? "http" : "https"}://${name}:${port}`;
  const token = anonymous ? null : tokenOf(config, hasLocalFlags ? url : null);
  return { url, token, profile: null, origin: "local", fetch: fetchWith(certificate) };
}

/** Returns the stored profile for exactly this URL: the current one if several have it, or null. @throws {UsageError} */
function storedFor(url: string): { name: string; profile: Profile } | null {
  const { current, profiles } = readProfiles();
  const found = Object.entries(profiles).filter(([, profile]) => profile.url === url);
  const [name, profile] = found.find(([each]) => each === current) ?? found[0] ?? [];
  if (name === undefined || profile === undefined) return null;
  if (found.length > 1 && name !== current) {
    const names = found.map(([each]) => each).join(", ");
    throw new UsageError(`the profiles ${names} are all for ${url}; choose one with --profile`);
  }
  return { name, profile };
}

/** Returns the URL in the form in which it is stored and compared: without a slash at its end. @throws {UsageError} */
export function readUrl(text: string, source: string): string {
  const url = URL.parse(text.trim());
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError(`${source} ${JSON.stringify(text)} is not a URL of https or http${urlMeant(text)}`);
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new UsageError(`${source}: the URL of a service has no user, no query and no fragment; leave them out`);
  const [all, before, container] = /^(.*)\/mcp(?:\/([^/]+))?\/*$/.exec(url.href) ?? [];
  if (all !== undefined)
    throw new UsageError(
      `${source} is the address of the service, without its MCP endpoint: ${before}${container ? `; name the container with --container ${container}` : ""}`,
    );
  const other = /\/(?:healthz|readyz|metrics|openapi\.json|api\/[\w-]+.*)\/*$/.exec(url.pathname)?.[0];
  if (other !== undefined) {
    const base = url.href.replace(/\/+$/, "").slice(0, -other.replace(/\/+$/, "").length);
    throw new UsageError(`${source} is the address of the service: leave ${other} out, as in ${base}`);
  }
  return url.href.replace(/\/+$/, "");
}

/** Returns the question about a forgotten protocol, such as that of `127.0.0.1:7070`. */
function urlMeant(text: string): string {
  const url = /^[\w.-]+(?::\d+)?$/.test(text.trim()) ? URL.parse(`http://${text.trim()}`) : null;
  if (url === null) return ", such as https://caisson.example or http://127.0.0.1:7070";
  return `; did you mean ${isLoopback(url.hostname) ? "http" : "https"}://${text.trim()}?`;
}

/** @throws {UsageError} if the token would travel unencrypted. */
export function mustBeEncrypted(url: string, source: string, insecureHttp: boolean): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === "https:" || isLoopback(hostname.replace(/^\[(.*)\]$/, "$1")) || insecureHttp) return;
  throw new UsageError(`${source} ${url}: the token would travel unencrypted; use https or --insecure-http`);
}
