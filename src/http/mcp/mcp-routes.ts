import { Problem } from "../../errors.ts";
import type { Caller } from "../../tokens/caller.ts";
import { endPart } from "../api/family-requests.ts";
import { NO_QUERY } from "../api/queries.ts";
import { readQuery } from "../api/read-query.ts";
import { methodNotAllowed, slashAtEnd } from "../api/refused-paths.ts";
import { type Api, type ApiDependencies, authenticate, type Call, segment } from "../api/route.ts";
import { requireContainer } from "../permissions.ts";
import { asProblem, problemAnswer } from "../problem.ts";
import { containerName } from "../target.ts";
import { loadAnswers } from "./load-mcp.ts";
import { answerHeaders, preflight } from "./mcp-headers.ts";
import { permittedOrigin } from "./origin.ts";

const PATHS = ["/mcp", "/mcp/:container{[^/]*}"];
/** The index of the container in the path. */
const CONTAINER = 2;

/** Serves the Model Context Protocol: tools for agents, in the containers of their tokens. */
export function serveMcp(api: Api, dependencies: ApiDependencies): void {
  const { mcpOrigin } = dependencies.config;
  for (const path of PATHS) {
    api.on("OPTIONS", path, (call) => {
      return answered(call, dependencies, () => preflight(permittedOrigin(call.env.incoming, mcpOrigin)));
    });
    api.on("POST", path, (call) => {
      return answered(call, dependencies, async (origin) => await answerPost(call, origin, dependencies));
    });
    // Clients open a stream with GET, and end a session with DELETE, only if the answer is not 405.
    api.all(path, (call) => {
      return answered(call, dependencies, () => {
        throw methodNotAllowed(call.req.raw.method, "/mcp", "POST, OPTIONS");
      });
    });
  }
}

async function answerPost(call: Call, origin: string | null, dependencies: ApiDependencies): Promise<Response> {
  readQuery(call.env.incoming.url!, NO_QUERY);
  const by = await authenticated(call, dependencies);
  const container = containerOf(call, by);
  const answers = await loadAnswers();
  const { status, headers, body } = await answers.answerMcp(call, { by, container, ...dependencies });
  return new Response(body, { status, headers: answerHeaders(headers, origin) });
}

/** A client of this protocol expects 401 if its token is missing or invalid (MCP 2025-11-25, authorization). */
async function authenticated(call: Call, dependencies: ApiDependencies): Promise<Caller> {
  try {
    // Without `key` in the query, which the protocol forbids.
    return await authenticate(call, { ...dependencies, config: { ...dependencies.config, queryKey: false } });
  } catch (error) {
    const { code, message, options } = asProblem(error);
    if (code !== "token_missing" && code !== "token_invalid") throw error;
    throw new Problem(code, message, { ...options, status: 401 });
  }
}

/** Returns the container of the path, or the only one of the token; null if each call names one. */
function containerOf(call: Call, by: Caller): string | null {
  const { containers, admin } = by.claims;
  if (call.req.routePath === PATHS[0]) {
    const [only] = containers;
    return !admin && containers.length === 1 && !only!.endsWith("*") ? only! : null;
  }
  const name = segment(call, CONTAINER);
  if (name === "") throw slashAtEnd("/mcp/");
  const container = containerName(name);
  requireContainer(by.claims, container, "tools");
  return container;
}

/** Answers errors with the headers of this endpoint. */
async function answered(
  call: Call,
  { config, log }: ApiDependencies,
  answer: (origin: string | null) => Promise<Response> | Response,
): Promise<Response> {
  let origin: string | null = null;
  try {
    origin = permittedOrigin(call.env.incoming, config.mcpOrigin);
    return await answer(origin);
  } catch (error) {
    const known = asProblem(error);
    if (known.code === "internal_error") log.pino.error({ err: known.options.cause }, "request failed");
    const { status, headers, body } = problemAnswer(known);
    const text = call.req.raw.method === "HEAD" ? null : body;
    const pairs = headers.flatMap((value, index): [string, string][] =>
      index % 2 === 0 ? [[value, headers[index + 1]!]] : [],
    );
    return new Response(text, { status, headers: answerHeaders(new Headers(pairs), origin) });
  } finally {
    endPart(call.env.outgoing);
  }
}
