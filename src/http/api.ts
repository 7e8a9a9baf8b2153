import type { IncomingMessage } from "node:http";

import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";

import type { Config } from "../config.ts";
import { Problem } from "../errors.ts";
import type { KeyUsage, Limiter } from "../limits/limiter.ts";
import { limitRecord } from "../limits/record.ts";
import type { Log } from "../telemetry/log.ts";
import type { Tokens } from "../tokens/authority.ts";
import { type Claims, permitsContainer, permitsVerb } from "../tokens/claims.ts";
import { readCredential } from "./credential.ts";
import { errorsPage } from "./errors-page.ts";
import { CORS_HEADERS, preflightHeaders, VERSION, VERSION_HEADERS } from "./headers.ts";
import { holderOf } from "./holder.ts";
import { asProblem, problemAnswer } from "./problem.ts";
import { rateLimitHeaders } from "./ratelimit-headers.ts";
import { readBody } from "./read-body.ts";
import { containerName, decode, parseTarget } from "./target.ts";
import { readUsage } from "./usage.ts";

export interface ApiDependencies {
  readonly config: Config;
  readonly tokens: Tokens;
  readonly limiter: Limiter;
  readonly log: Log;
  /** Why no run would be taken now, or null when one would. */
  readonly trouble: () => string | null;
  readonly isolation: string;
}

type Call = Context<{ Bindings: HttpBindings }>;
type Handler = (call: Call) => Promise<Response> | Response;
type Api = Hono<{ Bindings: HttpBindings }>;

const TOKEN_REQUEST_BYTES = 64 * 2 ** 10;

/** Everything but the runs. */
export function makeApi(dependencies: ApiDependencies): Api {
  // The path as it came: resolved as a URL, a container named ".." would be another path.
  const api: Api = new Hono({ getPath: (_, options) => parseTarget(incomingOf(options).url!).path });
  serveLimits(api, dependencies);
  serveTokens(api, dependencies);
  servePublic(api, dependencies);
  api.notFound((call) => problem(call, notFound(call.req.path)));
  api.onError((error, call) => {
    const { options, code } = asProblem(error);
    if (code === "internal_error") dependencies.log.pino.error({ err: options.cause }, "request failed");
    return problem(call, error);
  });
  return api;
}

export function notFound(path: string): Problem {
  return new Problem("not_found", `there is nothing at ${path.slice(0, 200)}`);
}

export function methodNotAllowed(method: string, allow: string): Problem {
  return new Problem("method_not_allowed", `${method} does not apply here; ${allow} do`, { headers: { Allow: allow } });
}

function serveLimits(api: Api, { limiter, tokens, ...dependencies }: ApiDependencies): void {
  const container = async (call: Call, administrate: boolean): Promise<[string, Claims]> => {
    const claims = await authenticate(call, tokens, dependencies.config);
    const name = containerName(lastSegment(call));
    const permitted = administrate ? claims.admin : permitsContainer(claims, name) && permitsVerb(claims, "limits");
    if (!permitted) throw forbidden();
    return [name, claims];
  };
  const answerContainer = async (name: string, claims: Claims): Promise<Response> => {
    const usage = await readUsage(limiter, name, holderOf(claims, tokens.registry));
    return record(usage[0]!, usage);
  };
  resource(api, "/api/limits/container/:name{[^/]*}", {
    GET: async (call) => answerContainer(...(await container(call, false))),
    DELETE: async (call) => {
      const [name, claims] = await container(call, true);
      await limiter.resetContainer(name);
      dependencies.log.audit("limits reset", { container: name, by: claims.jti });
      return answerContainer(name, claims);
    },
  });

  const token = async (call: Call, administrate: boolean): Promise<[string, Claims]> => {
    const claims = await authenticate(call, tokens, dependencies.config);
    const jti = decode(lastSegment(call)) ?? "";
    const own = !administrate && jti === claims.jti && permitsVerb(claims, "limits");
    if (!claims.admin && !own) throw forbidden();
    return [jti, claims];
  };
  const answerToken = async (jti: string): Promise<Response> => {
    // One that nobody knows here is held by the server's own limits.
    const usage = await limiter.token(jti, tokens.registry.issued(jti)?.claims.limits.token);
    return record(usage, [usage]);
  };
  resource(api, "/api/limits/token/:jti{[^/]*}", {
    GET: async (call) => answerToken((await token(call, false))[0]),
    DELETE: async (call) => {
      const [jti, claims] = await token(call, true);
      await limiter.resetToken(jti);
      dependencies.log.audit("limits reset", { token: jti, by: claims.jti });
      return answerToken(jti);
    },
  });
}

function serveTokens(api: Api, { tokens, config, log }: ApiDependencies): void {
  const administrator = async (call: Call): Promise<Claims> => {
    const claims = await authenticate(call, tokens, config);
    if (!claims.admin) throw forbidden();
    return claims;
  };
  resource(api, "/api/tokens", {
    POST: async (call) => {
      const by = await administrator(call);
      const issued = await tokens.issue(await readJson(call), by.jti);
      log.audit("token issued", { token: issued.jti, by: by.jti });
      return json(201, issued);
    },
  });
  resource(api, "/api/tokens/:jti{[^/]*}", {
    DELETE: async (call) => {
      const by = await administrator(call);
      const jti = decode(lastSegment(call)) ?? "";
      tokens.revoke(jti, by.jti);
      log.audit("token revoked", { token: jti, by: by.jti });
      return json(200, { jti, revoked: true });
    },
  });
}

function servePublic(api: Api, { tokens, trouble, isolation }: ApiDependencies): void {
  const health = (): Response => {
    const reason = trouble();
    const body = { status: reason ?? "ok", isolation, version: VERSION };
    return json(reason === null ? 200 : 503, body, reason === null ? [] : ["Caisson-Fault", "service"]);
  };
  resource(api, "/healthz", { GET: health });
  resource(api, "/readyz", { GET: health });
  resource(api, "/.well-known/jwks.json", { GET: () => json(200, tokens.keys.jwks()) });
  const page = errorsPage();
  resource(api, "/errors", { GET: () => text(200, page, "text/html; charset=utf-8") });
}

function incomingOf(options: unknown): IncomingMessage {
  return (options as { env: HttpBindings }).env.incoming;
}

/** One path and its methods: others are 405, `OPTIONS` answers preflights. */
function resource(api: Api, path: string, handlers: Readonly<Record<string, Handler>>): void {
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

async function authenticate(call: Call, { verifier }: Tokens, config: Config): Promise<Claims> {
  const { query } = parseTarget(call.env.incoming.url!);
  return verifier.verify(readCredential(call.env.incoming, query, config.queryKey).token);
}

/** As it came: Hono would decode it before we can judge it. */
function lastSegment(call: Call): string {
  const { path } = parseTarget(call.env.incoming.url!);
  return path.slice(path.lastIndexOf("/") + 1);
}

async function readJson(call: Call): Promise<unknown> {
  const body = await readBody(call.env.incoming, call.env.outgoing, TOKEN_REQUEST_BYTES, () => {
    return new Problem("request_invalid", `the body is longer than the ${TOKEN_REQUEST_BYTES} bytes that are taken`);
  });
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (error) {
    const reason = error instanceof SyntaxError ? error.message : "it is not UTF-8";
    throw new Problem("request_invalid", `the body is not JSON: ${reason}`);
  }
}

function forbidden(): Problem {
  return new Problem("token_forbidden", "the token does not permit this");
}

function record(usage: KeyUsage, all: readonly KeyUsage[]): Response {
  return json(200, limitRecord(usage), rateLimitHeaders(all));
}

function problem(call: Call, error: unknown): Response {
  const { status, headers, body } = problemAnswer(error);
  // A body that nobody read: the listener lets it run out.
  return answer(status, call.req.raw.method === "HEAD" ? null : body, [...headers, ...COMMON]);
}

function json(status: number, body: unknown, headers: readonly string[] = []): Response {
  return answer(status, JSON.stringify(body), ["Content-Type", "application/json", ...headers, ...COMMON]);
}

function text(status: number, body: string, type: string): Response {
  return answer(status, body, ["Content-Type", type, ...COMMON]);
}

function answer(status: number, body: string | null, headers: readonly string[]): Response {
  const pairs: [string, string][] = [];
  for (let index = 0; index < headers.length; index += 2) pairs.push([headers[index]!, headers[index + 1]!]);
  return new Response(body, { status, headers: pairs });
}

const COMMON: readonly string[] = [
  ...VERSION_HEADERS,
  ...CORS_HEADERS,
  ...["Cache-Control", "no-store"],
  ...["X-Content-Type-Options", "nosniff"],
  ...["Referrer-Policy", "no-referrer"],
];
