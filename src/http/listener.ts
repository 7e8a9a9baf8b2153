import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";

import type { Config } from "../config.ts";
import { readNamedFile } from "../config/read-file.ts";
import { Problem } from "../errors.ts";
import { clientNetwork } from "./address.ts";
import { loadApi } from "./api/load-api.ts";
import { methodNotAllowed } from "./api/refused-paths.ts";
import type { ApiDependencies } from "./api/route.ts";
import type { ServeApi } from "./api/serve-api.ts";
import { checkRequest } from "./check-request.ts";
import { CORS_HEADERS, preflightHeaders, VERSION_HEADERS } from "./headers.ts";
import { answerProbe } from "./health.ts";
import type { Intake } from "./intake.ts";
import { MalformedRequests, MAX_HEADER_BYTES, MAX_HEADERS } from "./malformed.ts";
import { noteOrigin } from "./mcp/origin.ts";
import { isOwnHost } from "./own-host.ts";
import { problemAnswer } from "./problem.ts";
import { endAnswer, expectBody, hasBody, lingerAtEnd } from "./read-body.ts";
import type { RunTarget } from "./run/find-task.ts";
import type { RunDependencies } from "./run/run-dependencies.ts";
import { RunEndpoint } from "./run/run.ts";
import { parseTarget, type Target } from "./target.ts";
import { holdWrites } from "./unread.ts";

/** @throws {Error} that names the settings: OpenSSL names neither the file nor the fault. */
function tlsServer(options: ServerOptions): Server {
  try {
    return createTlsServer(options);
  } catch (error) {
    const fix =
      "--tls-cert must be a certificate chain in PEM, and --tls-key its private key in PEM, without a password";
    throw new Error(`--tls-cert and --tls-key cannot be used (${(error as Error).message}); ${fix}`, { cause: error });
  }
}

const RUN_PATH = "/api/run/";
const RECORDS_PATH = "/api/runs/";
const RUN_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/**
 * The time for a TLS handshake, and for the head of a request. A slower client would occupy a connection for too long.
 */
const HEADERS_TIMEOUT_MS = 15_000;
/** The interval at which Node checks for connections that exceed this time. */
const CHECK_MS = 5_000;

type ListenerDependencies = RunDependencies &
  Omit<ApiDependencies, "dryRun" | "runTool"> & {
    readonly intake: Intake;
  };

/** Creates the HTTP server. Requests for runs go directly to the `RunEndpoint`, all other requests to the API. */
export function createListener(config: Config, dependencies: ListenerDependencies): Server {
  const runs = new RunEndpoint(dependencies);
  const dryRun: ApiDependencies["dryRun"] = (...call) => runs.dryRun(...call);
  const runTool: ApiDependencies["runTool"] = (...call) => runs.runTool(...call);
  let api: ServeApi | null = null;
  const serveApi = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const makeApi = await loadApi();
    api ??= makeApi({ ...dependencies, dryRun, runTool });
    // The client may have left meanwhile.
    if (!request.socket.destroyed) api(request, response);
  };
  const malformed = new MalformedRequests();

  const { proxies, intake } = dependencies;
  const isOwn = (host: string, request: IncomingMessage): boolean => isOwnHost(host, config.host, request, proxies);
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    proxies.reportIgnoredHeader(request);
    checkRequest(request, response, isOwn);
    if (request.url === "*" && request.method === "OPTIONS") {
      response.writeHead(204, preflightHeaders(RUN_METHODS.join(", "))).end();
      return;
    }
    const target = parseTarget(request.url!);
    const runTarget = parseRunPath(target.path) ?? parseRecordedRun(request.method!, target);
    if (!runTarget) {
      if (answerProbe(request, response, dependencies)) return;
      if (hasBody(request)) lingerAtEnd(response);
      holdWrites(response, () => clientNetwork(proxies.clientOf(request)));
      noteOrigin(request, proxies);
      // The adapter makes a URL of Host and target, which fails for some legal hosts. The API reads only the target.
      request.headers.host = "localhost";
      if (api) return api(request, response);
      serveApi(request, response).catch((error: unknown) => answerProblem(error, response, dependencies));
      return;
    }
    if (request.method === "OPTIONS") {
      const answering = runs.options(request, response, target, runTarget);
      answering.catch((error: unknown) => answerProblem(error, response, dependencies));
      return;
    }
    const isHeadOfTask = request.method === "HEAD" && runTarget.task !== null && !runTarget.isRecorded;
    const running =
      isHeadOfTask || RUN_METHODS.includes(request.method!)
        ? runs.handle(request, response, target, runTarget)
        : Promise.reject(methodNotAllowed(request.method!, target.path, `${RUN_METHODS.join(", ")}, OPTIONS`));
    running.catch((error: unknown) => answerProblem(error, response, dependencies));
  };
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const arrival = intake.arrived(request, response);
    if (!arrival) return;
    malformed.track(request, response);
    arrival.begin(() => {
      if (arrival.isOneTooMany) return refuseOneTooMany(response);
      try {
        answer(request, response);
      } catch (error) {
        answerProblem(error, response, dependencies);
      }
    });
  };

  const options = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    // `headersTimeout` limits the head. `bodies.ts` requires a minimum rate of bodies that it reads. The deadline of a
    // run limits a body that the run reads.
    requestTimeout: 0,
    connectionsCheckingInterval: CHECK_MS,
    noDelay: true,
    // `checkRequest` checks the header, so that the answer names the fault.
    requireHostHeader: false,
  };
  const { tlsCert, tlsKey } = config;
  const withTls = tlsCert !== null && tlsKey !== null;
  const server = withTls
    ? tlsServer({
        ...options,
        cert: readNamedFile("--tls-cert", tlsCert),
        key: readNamedFile("--tls-key", tlsKey),
        handshakeTimeout: HEADERS_TIMEOUT_MS,
      })
    : createServer(options);
  intake.attach(server);
  server.maxHeadersCount = MAX_HEADERS;
  return server
    .on("request", handle)
    .on("checkContinue", (request, response) => {
      expectBody(response);
      handle(request, response);
    })
    .on("checkExpectation", (request, response) => {
      malformed.track(request, response);
      // The client may have sent its body anyway. It could not read the answer if the service did not read this body.
      delete request.headers.expect;
      response.shouldKeepAlive = false;
      const detail = "the header Expect has a value other than 100-continue";
      answerProblem(new Problem("request_invalid", detail, { status: 417 }), response, dependencies);
    })
    .on("connect", (request: IncomingMessage) => malformed.refuseConnect(request))
    .on("clientError", (error, socket) => malformed.refuse(error, socket));
}

/**
 * Returns the container of a run path, and the name of its task if the path contains one. Segments after the name are
 * ignored. Returns null for other paths.
 */
function parseRunPath(path: string): RunTarget | null {
  if (!path.startsWith(RUN_PATH)) return null;
  const [container, task] = path.slice(RUN_PATH.length).split("/", 2);
  if (container === "" && task === undefined) return null;
  return { container: container!, task: task ?? null, isRecorded: false };
}

/** Returns what a run names that is answered with its record, or null for other requests. */
function parseRecordedRun(method: string, { path, query }: Target): RunTarget | null {
  if (method !== "POST" || !path.startsWith(RECORDS_PATH)) return null;
  const container = path.slice(RECORDS_PATH.length);
  return container === "" || container.includes("/") ? null : { container, task: query.get("task"), isRecorded: true };
}

function answerProblem(error: unknown, response: ServerResponse, { log }: RunDependencies): void {
  if (!(error instanceof Problem)) log.pino.error({ err: error }, "request failed");
  if (response.headersSent) return void response.destroy();
  const { status, headers, body } = problemAnswer(error);
  headers.push("Content-Length", String(Buffer.byteLength(body)), "Cache-Control", "no-store");
  response.writeHead(status, [...headers, ...VERSION_HEADERS, ...CORS_HEADERS]);
  endAnswer(response, body);
}

/**
 * Refuses a request of a client that has its share of the requests under way. The rest of its body is not read, because the
 * connection would stay open meanwhile.
 */
function refuseOneTooMany(response: ServerResponse): void {
  const detail = "the network of the client has its share of the requests under way";
  const { status, headers, body } = problemAnswer(
    new Problem("overloaded", detail, {
      retryAfterMs: 1_000,
      hint: "Send the next request when an earlier one was answered.",
    }),
  );
  headers.push("Content-Length", String(Buffer.byteLength(body)), "Cache-Control", "no-store");
  response.shouldKeepAlive = false;
  response.writeHead(status, [...headers, ...VERSION_HEADERS, ...CORS_HEADERS]).end(body);
}
