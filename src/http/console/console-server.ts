import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";

import type { Config } from "../../config.ts";
import { readNamedFile } from "../../config/read-file.ts";
import { ConnectionShare } from "../connection-share.ts";
import { VERSION_HEADERS } from "../headers.ts";
import type { Intake } from "../intake.ts";
import { BACKLOG } from "../listen-and-drain.ts";
import { MAX_HEADER_BYTES, MAX_HEADERS } from "../malformed.ts";
import type { Proxies } from "../proxies.ts";
import { answerFile, answerPage, type ConsoleAnswer } from "./console-answers.ts";
import type { Logo } from "./logo.ts";

/** A host name or an address, with or without a port. The page contains it, so it must have no other character. */
const HOST = /^([A-Za-z0-9._-]{1,253}|\[[0-9a-fA-F:.]{2,45}\])(?::\d{1,5})?$/;
/** The time for a TLS handshake and for a request. A slower client would occupy a connection for too long. */
const REQUEST_MS = 15_000;
/** The time without a byte after which a connection ends: stops clients that do not read their answer. */
const SILENT_MS = 30_000;
/** The most open connections. A page uses six at most, and no connection stays open without a request for long. */
const MAX_CONNECTIONS = 512;
/** The most connections of one client network, so that no single network takes all of them. */
const MAX_CONNECTIONS_OF_NETWORK = 128;

export interface ConsoleServerDependencies {
  readonly logo: Logo | null;
  readonly proxies: Proxies;
  readonly intake: Intake;
  /** Called for each connection that is refused because of what its network has open or opens. */
  readonly onRefused: (network: string, why: string) => void;
  /** The port of the service. */
  readonly servicePort: number;
}

/** Serves the console on a separate port, so that its origin is not the origin of what tasks answer. Nothing else is served there. */
export async function listenForConsole(
  config: Config,
  consolePort: number,
  dependencies: ConsoleServerDependencies,
): Promise<Server> {
  const { tlsCert, tlsKey, host } = config;
  const isSecure = tlsCert !== null && tlsKey !== null;
  const options = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: REQUEST_MS,
    requestTimeout: REQUEST_MS,
    connectionsCheckingInterval: REQUEST_MS / 3,
  };
  const server = isSecure
    ? createTlsServer({
        ...options,
        cert: readNamedFile("--tls-cert", tlsCert),
        key: readNamedFile("--tls-key", tlsKey),
        handshakeTimeout: REQUEST_MS,
      })
    : createServer(options);
  server.maxConnections = MAX_CONNECTIONS;
  server.setTimeout(SILENT_MS, (socket) => socket.destroy());
  server.maxHeadersCount = MAX_HEADERS;
  const { intake, proxies, onRefused } = dependencies;
  intake.attach(server, new ConnectionShare(MAX_CONNECTIONS_OF_NETWORK, proxies, onRefused));
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const arrival = intake.arrived(request, response);
    arrival?.begin(() => {
      if (arrival.isOneTooMany) {
        response.destroy();
        return;
      }
      const scheme = isSecure ? "https" : "http";
      answer(request, response, config, scheme, dependencies).catch(() => response.destroy());
    });
  });
  try {
    server.listen({ port: consolePort, host, backlog: BACKLOG });
    // Rejects when the server emits an error.
    await once(server, "listening");
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    const cause = code === "EADDRINUSE" ? "in use; choose another port" : `not usable (${code})`;
    throw new Error(`port ${consolePort} of --console-port is ${cause}`, { cause: error });
  }
  return server;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  config: Config,
  scheme: string,
  { logo, servicePort }: ConsoleServerDependencies,
): Promise<void> {
  // No request to the console has a body. What a client sends anyway is not kept.
  request.resume();
  const isHead = request.method === "HEAD";
  if (request.method !== "GET" && !isHead) return refuse(response, 405, ["Allow", "GET, HEAD"]);
  const hostName = HOST.exec(request.headers.host ?? "")?.[1];
  const serviceUrl = config.consoleServiceUrl ?? (hostName && `${scheme}://${hostName}:${servicePort}`);
  if (serviceUrl === undefined || !URL.canParse(serviceUrl)) return refuse(response, 400, []);
  const found = await find(request, config, serviceUrl, logo);
  if (found === null) return refuse(response, 404, []);
  send(response, found, isHead);
}

async function find(
  { url, headers }: IncomingMessage,
  config: Config,
  serviceUrl: string,
  logo: Logo | null,
): Promise<ConsoleAnswer | null> {
  const path = url!.split("?", 1)[0]!;
  if (path === "/") return answerPage(config, serviceUrl);
  const name = /^\/console\/([^/]+)$/.exec(path)?.[1];
  return name === undefined ? null : answerFile(name, String(headers["accept-encoding"]), logo);
}

function send(response: ServerResponse, { type, bytes, headers }: ConsoleAnswer, isHead: boolean): void {
  // Further headers come last, because they override the same name here.
  const all = ["Content-Type", type, "Content-Length", String(bytes.length), ...COMMON, ...headers];
  for (let at = 0; at < all.length; at += 2) response.setHeader(all[at]!, all[at + 1]!);
  response.writeHead(200).end(isHead ? undefined : bytes);
}

function refuse(response: ServerResponse, status: number, headers: readonly string[]): void {
  const text = {
    400: "The header Host names no host.\n",
    404: "Only the console is here.\n",
    405: "Only GET and HEAD are allowed.\n",
  }[status]!;
  response.writeHead(status, ["Content-Type", "text/plain; charset=utf-8", ...COMMON, ...headers]).end(text);
}

/** Without CORS: pages of other origins have no reason to read the console. */
const COMMON: readonly string[] = [
  ...VERSION_HEADERS,
  ...["Cache-Control", "no-store"],
  ...["X-Content-Type-Options", "nosniff"],
  ...["Referrer-Policy", "no-referrer"],
];

/** Returns the URL of the console on its port. */
export function consoleUrlOf(server: Server, serviceUrl: string): string {
  const url = new URL(serviceUrl);
  url.port = String((server.address() as AddressInfo).port);
  return url.href;
}
