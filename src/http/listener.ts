import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

import { getRequestListener } from "@hono/node-server";

import type { Config } from "../config.ts";
import { Problem } from "../errors.ts";
import { makeApi } from "./api.ts";
import { CORS_HEADERS, preflightHeaders, VERSION_HEADERS } from "./headers.ts";
import type { RunPlace } from "./named-run.ts";
import { problemAnswer } from "./problem.ts";
import { endAnswer, expectBody, hasBody, lingerAtEnd } from "./read-body.ts";
import { type ApiDependencies, methodNotAllowed } from "./resources.ts";
import { type RunDependencies, RunEndpoint } from "./run.ts";
import { parseTarget } from "./target.ts";

const RUN_PATH = "/api/run/";
const RUN_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const MAX_HEADER_BYTES = 16 * 2 ** 10;
/** A request that drips in slower than this holds a connection for nothing. */
const HEADERS_TIMEOUT_MS = 15_000;
const CHECK_MS = 5_000;
/** For the answer to what is not HTTP to be read. */
const CLOSE_MS = 1_000;

/** The HTTP server: runs go straight to their story, everything else to the API. */
export function createListener(config: Config, dependencies: RunDependencies & ApiDependencies): Server {
  const runs = new RunEndpoint(dependencies);
  const api = getRequestListener(makeApi(dependencies).fetch, { overrideGlobalObjects: false });

  const { proxies } = dependencies;
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    proxies.notice(request);
    if (request.headers.host === undefined && request.httpVersion === "1.1") {
      response.setHeader("Connection", "close");
      answerProblem(new Problem("request_invalid", "the request has no Host header"), response, dependencies);
      return;
    }
    const target = parseTarget(request.url!);
    const place = runPlace(target.path);
    if (!place) {
      if (hasBody(request)) lingerAtEnd(response);
      void api(request, response);
      return;
    }
    if (request.method === "OPTIONS") {
      response.writeHead(204, preflightHeaders(RUN_METHODS.join(", "))).end();
      return;
    }
    const running = RUN_METHODS.includes(request.method!)
      ? runs.handle(request, response, target, place)
      : Promise.reject(methodNotAllowed(request.method!, `${RUN_METHODS.join(", ")}, OPTIONS`));
    running.catch((error: unknown) => answerProblem(error, response, dependencies));
  };

  const options = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    // The head has its own time. A body that is read has a minimum rate (`bodies.ts`), a body that a run reads its deadline.
    requestTimeout: 0,
    connectionsCheckingInterval: CHECK_MS,
    noDelay: true,
    // Checked here, for the sake of a clear answer.
    requireHostHeader: false,
  };
  const server =
    config.tlsCert === null || config.tlsKey === null
      ? createServer(options)
      : createTlsServer({ ...options, cert: readFileSync(config.tlsCert), key: readFileSync(config.tlsKey) });
  const meet = (socket: Socket): void => proxies.meet(socket);
  return server
    .on("connection", meet)
    .on("secureConnection", meet)
    .on("request", handle)
    .on("checkContinue", (request, response) => {
      expectBody(response);
      handle(request, response);
    })
    .on("clientError", answerMalformed);
}

/** What a path asks to be run: code in a container, or a task in it, whatever follows its name; null for other paths. */
function runPlace(path: string): RunPlace | null {
  if (!path.startsWith(RUN_PATH)) return null;
  const [container, task] = path.slice(RUN_PATH.length).split("/", 2);
  if (task === "") return null;
  return { container: container!, task: task ?? null };
}

function answerProblem(error: unknown, response: ServerResponse, { log }: RunDependencies): void {
  if (!(error instanceof Problem)) log.pino.error({ err: error }, "request failed");
  if (response.headersSent) return void response.destroy();
  const { status, headers, body } = problemAnswer(error);
  headers.push("Content-Length", String(Buffer.byteLength(body)), "Cache-Control", "no-store");
  response.writeHead(status, [...headers, ...VERSION_HEADERS, ...CORS_HEADERS]);
  endAnswer(response, body);
}

/** What is not HTTP is told so, in HTTP, and its connection is closed: where the next request begins cannot be known. */
function answerMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy();
  const [status, reason, detail] = malformed(error.code);
  const answer = problemAnswer(new Problem("request_invalid", detail, { status }));
  const headers = [...answer.headers, ...VERSION_HEADERS, "Content-Length", String(Buffer.byteLength(answer.body))];
  let head = `HTTP/1.1 ${status} ${reason}\r\nConnection: close\r\n`;
  for (let index = 0; index < headers.length; index += 2) head += `${headers[index]}: ${headers[index + 1]}\r\n`;
  socket.end(`${head}\r\n${answer.body}`);
  // Node judges a connection once. A client that does not close its end would have it for ever, and needs no token.
  const timer = setTimeout(() => socket.destroy(), CLOSE_MS).unref();
  socket.once("close", () => clearTimeout(timer));
}

function malformed(code: string | undefined): [status: number, reason: string, detail: string] {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return [431, "Request Header Fields Too Large", `the headers are longer than ${MAX_HEADER_BYTES} bytes`];
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return [408, "Request Timeout", "the request did not come whole in time"];
    default:
      return [400, "Bad Request", "the request is not HTTP/1.1"];
  }
}
