import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";

import { getRequestListener, RequestError } from "@hono/node-server";

import type { Config } from "../config.ts";
import { Problem } from "../errors.ts";
import { clientNetwork } from "./address.ts";
import { makeApi } from "./api/api.ts";
import { type ApiDependencies, methodNotAllowed, problem } from "./api/route.ts";
import { checkRequest } from "./check-request.ts";
import { CORS_HEADERS, preflightHeaders, VERSION_HEADERS } from "./headers.ts";
import { MalformedRequests, MAX_HEADER_BYTES } from "./malformed.ts";
import { Pipelining } from "./pipelining.ts";
import { problemAnswer } from "./problem.ts";
import { endAnswer, expectBody, hasBody, lingerAtEnd } from "./read-body.ts";
import type { RunTarget } from "./run/find-task.ts";
import type { RunDependencies } from "./run/run-dependencies.ts";
import { RunEndpoint } from "./run/run.ts";
import { parseTarget } from "./target.ts";
import { holdWhatIsWritten } from "./unread.ts";

const RUN_PATH = "/api/run/";
const RUN_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/** A request that drips in slower than this holds a connection for nothing. */
const HEADERS_TIMEOUT_MS = 15_000;
const CHECK_MS = 5_000;

/** The HTTP server: runs go straight to their story, everything else to the API. */
export function createListener(config: Config, dependencies: RunDependencies & ApiDependencies): Server {
  const runs = new RunEndpoint(dependencies);
  const api = getRequestListener(makeApi(dependencies).fetch, {
    overrideGlobalObjects: false,
    errorHandler: (error) => refuseTarget(error, dependencies),
  });
  const malformed = new MalformedRequests();
  const pipelining = new Pipelining();

  const { proxies } = dependencies;
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    proxies.notice(request);
    checkRequest(request, response);
    if (request.url === "*" && request.method === "OPTIONS") {
      response.writeHead(204, preflightHeaders(RUN_METHODS.join(", "))).end();
      return;
    }
    const target = parseTarget(request.url!);
    const place = runPlace(target.path);
    if (!place) {
      if (hasBody(request)) lingerAtEnd(response);
      holdWhatIsWritten(response, () => clientNetwork(proxies.clientOf(request)));
      // The adapter makes a URL of Host and target, and not of each Host that is legal. The API reads the target alone.
      request.headers.host = "localhost";
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
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    if (!pipelining.admits(request, response)) return;
    malformed.began(request, response);
    try {
      answer(request, response);
    } catch (error) {
      answerProblem(error, response, dependencies);
    }
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
  const { tlsCert, tlsKey } = config;
  const withTls = tlsCert !== null && tlsKey !== null;
  const server = withTls
    ? createTlsServer({
        ...options,
        cert: readFileSync(tlsCert),
        key: readFileSync(tlsKey),
        handshakeTimeout: HEADERS_TIMEOUT_MS,
      })
    : createServer(options);
  const meet = (socket: Socket): void => proxies.meet(socket);
  return server
    .on("connection", meet)
    .on("secureConnection", meet)
    .on(withTls ? "secureConnection" : "connection", (socket: Socket) => pipelining.meet(socket))
    .on("request", handle)
    .on("checkContinue", (request, response) => {
      expectBody(response);
      handle(request, response);
    })
    .on("checkExpectation", (request, response) => {
      malformed.began(request, response);
      // The client may have sent its body in any case, and would not read the answer if that were not read.
      delete request.headers.expect;
      response.shouldKeepAlive = false;
      const detail = "the header Expect asks for something other than 100-continue";
      answerProblem(new Problem("request_invalid", detail, { status: 417 }), response, dependencies);
    })
    .on("connect", (request: IncomingMessage) => malformed.refuseConnect(request))
    .on("clientError", (error, socket) => malformed.refuse(error, socket));
}

/** What a path asks to be run: code in a container, or a task in it, whatever follows its name; null for other paths. */
function runPlace(path: string): RunTarget | null {
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

/** @param error of the API's adapter, which makes a URL of the target before it asks the API. */
function refuseTarget(error: unknown, { log }: ApiDependencies): Response {
  if (error instanceof RequestError) {
    return problem(null, new Problem("request_invalid", "the target of the request is not a URL"));
  }
  log.pino.error({ err: error }, "request failed");
  return problem(null, error);
}
