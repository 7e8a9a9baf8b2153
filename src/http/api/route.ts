import type { IncomingMessage } from "node:http";

import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";

import type { Config } from "../../config.ts";
import type { ContainerManager } from "../../containers/container-manager.ts";
import { Problem } from "../../errors.ts";
import type { Limiter } from "../../limits/limiter.ts";
import type { PolicyStore } from "../../policies/store.ts";
import type { Tasks } from "../../tasks/tasks.ts";
import type { EgressCounts } from "../../telemetry/egress-counts.ts";
import type { Log } from "../../telemetry/log.ts";
import type { RunCounts } from "../../telemetry/run-counts.ts";
import type { Caller } from "../../tokens/caller.ts";
import type { IssueRate } from "../../tokens/issue-rate.ts";
import type { Tokens } from "../../tokens/token-service.ts";
import type { Authenticator } from "../authenticator.ts";
import type { Bodies } from "../bodies.ts";
import { readCredential } from "../credential.ts";
import { CORS_HEADERS, preflightHeaders, VERSION_HEADERS } from "../headers.ts";
import { problemAnswer } from "../problem.ts";
import type { Proxies } from "../proxies.ts";
import { parseTarget } from "../target.ts";
import { answerTo } from "../unread.ts";

export interface ApiDependencies {
  readonly config: Config;
  readonly tokens: Tokens;
  readonly authenticator: Authenticator;
  readonly bodies: Bodies;
  readonly proxies: Proxies;
  readonly limiter: Limiter;
  readonly issueRate: IssueRate;
  readonly policies: PolicyStore;
  readonly tasks: Tasks;
  readonly containers: ContainerManager;
  readonly log: Log;
  readonly runCounts: RunCounts;
  readonly egressCounts: Pick<EgressCounts, "refused">;
  /** Why no run would be taken now, or null when one would. */
  readonly trouble: () => string | null;
  /** The level, and why no stronger one was taken. */
  readonly isolation: { readonly level: string; readonly fallbackReason: string | null };
}

export type Call = Context<{ Bindings: HttpBindings }>;
export type Handler = (call: Call) => Promise<Response> | Response;
export type Api = Hono<{ Bindings: HttpBindings }>;

export function notFound(path: string): Problem {
  return new Problem("not_found", `there is nothing at ${path.slice(0, 200)}`);
}

export function methodNotAllowed(method: string, allow: string): Problem {
  return new Problem("method_not_allowed", `${method} does not apply here; ${allow} do`, { headers: { Allow: allow } });
}

export function incomingOf(options: unknown): IncomingMessage {
  return (options as { env: HttpBindings }).env.incoming;
}

/** One path and its methods: others are 405, `OPTIONS` answers preflights. */
export function resource(api: Api, path: string, handlers: Readonly<Record<string, Handler>>): void {
  const isApi = path.startsWith("/api/");
  const methods = Object.keys(handlers).join(", ");
  for (const [method, handler] of Object.entries(handlers)) {
    api.on(method, path, (call) => {
      // Hono serves HEAD by GET; under /api it is no method.
      if (isApi && call.req.raw.method !== method) throw methodNotAllowed(call.req.raw.method, `${methods}, OPTIONS`);
      return handler(call);
    });
  }
  api.on("OPTIONS", path, () => answer(204, null, preflightHeaders(methods)));
  api.all(path, (call) => {
    throw methodNotAllowed(call.req.method, `${methods}, OPTIONS`);
  });
}

export async function authenticate(call: Call, { authenticator, config, tokens }: ApiDependencies): Promise<Caller> {
  const { query } = parseTarget(call.env.incoming.url!);
  const { token } = readCredential(call.env.incoming, query, config.queryKey);
  const caller = await authenticator.verify(token, call.env.incoming);
  tokens.uses.seen(caller.claims);
  answerTo(call.env.outgoing, caller.family);
  return caller;
}

/** Logs what an administrator has done: to what, who it was, and from where. */
export function audit(
  call: Call,
  { log, proxies }: ApiDependencies,
  what: string,
  details: Readonly<Record<string, unknown>> & { readonly by: string },
): void {
  log.audit(what, { ...details, client: proxies.clientOf(call.env.incoming) });
}

/** As it came: Hono would decode it before we can judge it. */
export function lastSegment(call: Call): string {
  const { path } = parseTarget(call.env.incoming.url!);
  return path.slice(path.lastIndexOf("/") + 1);
}

export function forbidden(): Problem {
  return new Problem("token_forbidden", "the token does not permit this");
}

/** @param call null where its request could not even be read. */
export function problem(call: Call | null, error: unknown): Response {
  const { status, headers, body } = problemAnswer(error);
  // A body that nobody read: the listener lets it run out.
  return answer(status, call?.req.raw.method === "HEAD" ? null : body, [...headers, ...COMMON]);
}

export function json(status: number, body: unknown, headers: readonly string[] = []): Response {
  return answer(status, JSON.stringify(body), ["Content-Type", "application/json", ...headers, ...COMMON]);
}

/** RFC 9110, section 15.4.5: what the client has is what it would get. */
export function notModified(headers: readonly string[]): Response {
  return answer(304, null, [...headers, ...COMMON]);
}

/** As `json`, of what is JSON already. */
export function jsonText(status: number, body: string): Response {
  return answer(status, body, ["Content-Type", "application/json", ...COMMON]);
}

/** @param cache its `Cache-Control` (RFC 9111), where it may be kept. */
export function text(status: number, body: string, type: string, cache?: string): Response {
  return answer(status, body, ["Content-Type", type, ...COMMON, ...(cache ? ["Cache-Control", cache] : [])]);
}

function answer(status: number, body: string | null, headers: readonly string[]): Response {
  // The last of a name counts.
  const byName = new Headers();
  for (let index = 0; index < headers.length; index += 2) byName.set(headers[index]!, headers[index + 1]!);
  return new Response(body, { status, headers: byName });
}

const COMMON: readonly string[] = [
  ...VERSION_HEADERS,
  ...CORS_HEADERS,
  ...["Cache-Control", "no-store"],
  ...["X-Content-Type-Options", "nosniff"],
  ...["Referrer-Policy", "no-referrer"],
];
