import type { IncomingMessage, ServerResponse } from "node:http";

import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Context, Hono } from "hono";

import type { Config } from "../../config.ts";
import type { ContainerManager } from "../../containers/container-manager.ts";
import { Problem } from "../../errors.ts";
import type { Limiter } from "../../limits/limiter.ts";
import type { Nodes } from "../../nodes/nodes.ts";
import type { Packages } from "../../packages/packages.ts";
import type { Restarts } from "../../policies/restarts.ts";
import type { PolicyStore } from "../../policies/store.ts";
import type { Audit, AuditAction } from "../../records/audit/audit.ts";
import type { Drain } from "../../records/drain/drain.ts";
import type { Records } from "../../records/records.ts";
import type { RecordStore } from "../../records/store.ts";
import type { Usage } from "../../records/usage/usage.ts";
import type { TaskRef } from "../../tasks/definition.ts";
import type { DraftTask, Tasks } from "../../tasks/tasks.ts";
import type { EgressCounts } from "../../telemetry/egress-counts.ts";
import type { Log } from "../../telemetry/log.ts";
import type { RunCounts } from "../../telemetry/run-counts.ts";
import type { Caller } from "../../tokens/caller.ts";
import type { CheckRate } from "../../tokens/check-rate.ts";
import type { IssueRate } from "../../tokens/issue-rate.ts";
import type { Tokens } from "../../tokens/token-service.ts";
import type { Authenticator } from "../authenticator.ts";
import type { Bodies } from "../bodies.ts";
import type { Logo } from "../console/logo.ts";
import { readCredential } from "../credential.ts";
import { CORS_HEADERS, preflightHeaders, SAFETY_HEADERS, VERSION_HEADERS } from "../headers.ts";
import { problemAnswer } from "../problem.ts";
import type { Proxies } from "../proxies.ts";
import { parseTarget } from "../target.ts";
import type { ToolRun } from "../tool-run.ts";
import { limitsItself, setOwner } from "../unread.ts";
import { endCount, endPart, type FamilyRequests } from "./family-requests.ts";
import { isMetricsToken } from "./metrics-token.ts";
import { NO_QUERY, type Query } from "./queries.ts";
import { readQuery } from "./read-query.ts";
import { methodNotAllowed, slashAtEnd } from "./refused-paths.ts";
import type { SystemFacts } from "./system-facts.ts";

export interface ApiDependencies {
  readonly config: Config;
  readonly consoleLogo: Logo | null;
  readonly tokens: Tokens;
  readonly authenticator: Authenticator;
  readonly bodies: Bodies;
  readonly proxies: Proxies;
  readonly limiter: Limiter;
  readonly issueRate: IssueRate;
  readonly checkRate: CheckRate;
  readonly policies: PolicyStore;
  readonly restarts: Pick<Restarts, "restart" | "suspended">;
  readonly tasks: Tasks;
  readonly packages: Packages;
  readonly containers: ContainerManager;
  readonly records: Records;
  /** The other nodes of the service; null without Redis. */
  readonly nodes: Nodes | null;
  readonly log: Log;
  readonly usage: Pick<Usage, "read" | "losses">;
  readonly audit: Pick<Audit, "add" | "list" | "losses">;
  readonly recordStore: Pick<RecordStore, "losses">;
  /** Sends records to a collector; null if the operator named none. */
  readonly drain: Pick<Drain, "losses"> | null;
  readonly runCounts: RunCounts;
  /** Limits the requests of a family that are under way. */
  readonly requests: FamilyRequests;
  readonly egressCounts: Pick<EgressCounts, "refused">;
  /** Returns all metrics in the text format of Prometheus. */
  readonly metricsText: () => Promise<string>;
  /** The token that reads the metrics and nothing else; null if the operator set none. */
  readonly metricsToken: string | null;
  /**
   * Runs a task once without publishing it.
   *
   * @returns the record of the run, as JSON, and the headers of the run: name, value, name, value
   * @throws {Problem} if the token may not run code in the container, and if the run is not admitted
   */
  readonly dryRun: (
    request: IncomingMessage,
    response: ServerResponse,
    what: { readonly ref: TaskRef; readonly by: Caller; readonly readDraft: () => Promise<DraftTask> },
  ) => Promise<{ readonly record: string; readonly headers: readonly string[] }>;
  /**
   * Runs what a tool supplies.
   *
   * @returns the record of the run, as JSON
   * @throws {Problem} if the token may not run it, and if the run is not admitted
   */
  readonly runTool: (request: IncomingMessage, response: ServerResponse, what: ToolRun) => Promise<string>;
  /** Cancels a run. @returns false if the token may not cancel a run with this id, or there is none in flight. */
  readonly cancel: (container: string, run: string, by: Caller) => boolean;
  /** Returns why the service would refuse all runs now, or null if it accepts runs. */
  readonly trouble: () => string | null;
  /** The isolation level, its mechanisms, and the reason why no stronger level is in use. */
  readonly isolation: {
    readonly level: string;
    readonly mechanisms: string;
    readonly resources: string;
    readonly fallbackReason: string | null;
  };
  readonly system: SystemFacts;
}

export type Call = Context<{ Bindings: HttpBindings }>;
export type Handler = (call: Call) => Promise<Response> | Response;
export type Api = Hono<{ Bindings: HttpBindings }>;

export function incomingOf(options: unknown): IncomingMessage {
  return (options as { env: HttpBindings }).env.incoming;
}

/**
 * Adds a path with its methods. `OPTIONS` answers preflights; all other methods are answered with 405.
 *
 * @param queries the parameters that the query may contain, by method: none by default.
 */
export function resource(
  api: Api,
  path: string,
  handlers: Readonly<Record<string, Handler>>,
  queries: Readonly<Record<string, Query>> = {},
): void {
  const isApi = path.startsWith("/api/");
  const endsWithName = path.endsWith("}");
  const methods = Object.keys(handlers).join(", ");
  if (endsWithName) {
    // A slash at the end would be an empty name, and its fault would hide the slash.
    api.use(path, async (call, next) => {
      if (lastSegment(call) === "") throw slashAtEnd(parseTarget(call.env.incoming.url!).path);
      await next();
    });
  }
  for (const [method, handler] of Object.entries(handlers)) {
    api.on(method, path, async (call) => {
      // Hono handles HEAD with the GET handler, but paths under /api do not allow HEAD.
      if (isApi && call.req.raw.method !== method)
        throw methodNotAllowed(call.req.raw.method, call.req.path, `${methods}, OPTIONS`);
      // Also for a caller without a token: a path answers a misspelled parameter in one way.
      if (isApi) readQuery(call.env.incoming.url!, queries[method] ?? NO_QUERY);
      try {
        return await handler(call);
      } finally {
        endPart(call.env.outgoing);
      }
    });
  }
  api.on("OPTIONS", path, () => answer(204, null, preflightHeaders(methods)));
  api.all(path, (call) => {
    throw methodNotAllowed(call.req.method, call.req.path, `${methods}, OPTIONS`);
  });
}

export async function authenticate(
  call: Call,
  { authenticator, config, tokens, metricsToken, requests }: ApiDependencies,
): Promise<Caller> {
  const { query } = parseTarget(call.env.incoming.url!);
  const { token } = readCredential(call.env.incoming, query, config.queryKey);
  const caller = await verify(token, call.env.incoming, authenticator, metricsToken);
  tokens.uses.seen(caller.claims);
  setOwner(call.env.outgoing, caller.family);
  // An administrator's backend may serve many tenants at once.
  if (!caller.claims.admin) requests.begin(caller.family, call.env.outgoing);
  return caller;
}

async function verify(
  token: string,
  incoming: IncomingMessage,
  authenticator: Authenticator,
  metricsToken: string | null,
): Promise<Caller> {
  try {
    return await authenticator.verify(token, incoming);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "token_invalid" || !isMetricsToken(token, metricsToken))
      throw error;
    throw new Problem("token_invalid", "this token reads /metrics and nothing else", {
      hint: "Send a token that an administrator issued for this path.",
    });
  }
}

/** The token of a change, and the address of its client, unless that is the client of the request. */
export type Changer = Pick<Caller, "claims" | "quotaFamily"> & { readonly client?: string };

/**
 * Records a change in the log and in the audit: what was changed, which token changed it, and from which client address.
 * Resolves when the entry is on the disk, so that no client receives the answer to a change without an entry. A disk that
 * fails delays the answer, but does not fail it.
 *
 * @param line the text of the line in the log, if it differs
 */
export async function audit(
  call: Call,
  { log, proxies, audit: entries }: ApiDependencies,
  action: AuditAction,
  { claims: { jti: by }, quotaFamily: family, client = proxies.clientOf(call.env.incoming) }: Changer,
  details: Readonly<Record<string, unknown>>,
  line: string = action,
): Promise<void> {
  log.audit(line, { ...details, by, client });
  await entries.add({ action, by, family, client, details });
}

/**
 * Returns the last segment of the path as the client sent it. Hono would decode it before this code can validate it.
 */
export function lastSegment(call: Call): string {
  const { path } = parseTarget(call.env.incoming.url!);
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Returns a segment of the path as the client sent it. @param at its index; the segment before the first slash has 0 */
export function segment(call: Call, at: number): string {
  return parseTarget(call.env.incoming.url!).path.split("/")[at]!;
}

/** @param call null if the request could not be read */
export function problem(call: Call | null, error: unknown): Response {
  const { status, headers, body } = problemAnswer(error);
  // If no code has read the request body, the listener reads and discards it.
  return answer(status, call?.req.raw.method === "HEAD" ? null : body, [...headers, ...COMMON]);
}

export function json(status: number, body: unknown, headers: readonly string[] = []): Response {
  return answer(status, JSON.stringify(body), ["Content-Type", "application/json", ...headers, ...COMMON]);
}

/** Returns 304: the client already has the current representation (RFC 9110, section 15.4.5). */
export function notModified(headers: readonly string[]): Response {
  return answer(304, null, [...headers, ...COMMON]);
}

/** Works as `json` does, for a body that is already JSON text. */
export function jsonText(status: number, body: string, headers: readonly string[] = []): Response {
  return answer(status, body, ["Content-Type", "application/json", ...headers, ...COMMON]);
}

/** @param headers further headers, or other values of headers that every answer has */
export function text(status: number, body: string, type: string, headers: readonly string[] = []): Response {
  return answer(status, body, ["Content-Type", type, ...COMMON, ...headers]);
}

/** Sends bytes that all answers share: a `Response` would copy them for each. @returns what the handler returns */
export function sendShared(call: Call, bytes: Buffer, type: string, headers: readonly string[]): Response {
  const length = ["Content-Length", String(bytes.length)];
  const head = byName(["Content-Type", type, ...COMMON, ...headers, ...length]);
  call.env.outgoing.writeHead(200, Object.fromEntries(head)).end(bytes);
  return STREAMED;
}

/**
 * Sends the head of an answer without an end, and returns the answer. The handler then returns `STREAMED`. The writer limits
 * the bytes that the client has not read.
 */
export function beginStream(call: Call, type: string, headers: readonly string[]): ServerResponse {
  const { outgoing } = call.env;
  limitsItself(outgoing);
  endCount(outgoing);
  outgoing.writeHead(200, Object.fromEntries(byName(["Content-Type", type, ...headers, ...COMMON])));
  outgoing.flushHeaders();
  return outgoing;
}

export const STREAMED: Response = RESPONSE_ALREADY_SENT;

function answer(status: number, body: string | null, headers: readonly string[]): Response {
  return new Response(body, { status, headers: byName(headers) });
}

/** If a name occurs more than once, its last value applies. */
function byName(headers: readonly string[]): Headers {
  const values = new Headers();
  for (let index = 0; index < headers.length; index += 2) values.set(headers[index]!, headers[index + 1]!);
  return values;
}

const COMMON: readonly string[] = [
  ...VERSION_HEADERS,
  ...CORS_HEADERS,
  ...["Cache-Control", "no-store"],
  ...SAFETY_HEADERS,
];
