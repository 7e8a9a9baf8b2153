import { randomUUID } from "node:crypto";

import { createMcpHandler, McpServer, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";

import type { Call } from "../api/route.ts";
import { VERSION } from "../headers.ts";
import { asProblem } from "../problem.ts";
import { callTool } from "./call-tool.ts";
import { cancelCall } from "./cancellations.ts";
import { instructionsFor } from "./instructions.ts";
import { listTools, namesOfOwnTools } from "./list-tools.ts";
import type { McpCall, McpTarget } from "./mcp-call.ts";
import { readMessage } from "./message-body.ts";
import { StructuredText } from "./structured-text.ts";

export { loadInputCheck } from "./input-check.ts";

/** The header with which a client of 2025 names its session. */
const SESSION = "mcp-session-id";
/** A session of this service, or of another one that a client has remembered. */
const SESSION_FORM = /^[\x21-\x7e]{1,128}$/;
/** The headers that the protocol reads. */
const READ = ["accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name", SESSION];

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const INITIALIZE =
  'params must be like {"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}';
const INVALID_PARAMS = -32_602;
/** As the library answers a request that HTTP alone makes invalid. */
const TRANSPORT_ERROR = -32_000;
const ACCEPT = "send the header Accept: application/json, text/event-stream; an MCP client sends it";
const RUN = "To run code without an MCP client, send it to POST /api/run/{container}";
const NO_MESSAGE =
  'the body is not a message of JSON-RPC 2.0, such as {"jsonrpc":"2.0","id":1,"method":"tools/list"}; an MCP client sends them. ' +
  RUN;

/**
 * Answers a message of a client of the protocol of 2026 or 2025. The service keeps no session: a session only names the calls
 * of one client, so that it can cancel them.
 *
 * @throws {Problem} `code_too_large`, `overloaded`
 */
export async function answerMcp(call: Call, target: McpTarget): Promise<Response> {
  const { incoming, outgoing } = call.env;
  const session = String(incoming.headers[SESSION] ?? "");
  const received: McpCall = {
    ...target,
    call,
    session: SESSION_FORM.test(session) ? session : null,
    release: () => {},
  };
  let message: unknown;
  try {
    ({ message, release: received.release } = await readMessage(received));
  } catch (error) {
    const { code, message: detail } = asProblem(error);
    if (code !== "request_invalid") throw error;
    return refusal(PARSE_ERROR, `${detail}. ${RUN}`);
  }
  if (Array.isArray(message)) return refusal(INVALID_REQUEST, "send each message in a separate request");
  if (!isMessage(message)) return refusal(INVALID_REQUEST, NO_MESSAGE);
  const { method, params } = message as { method?: unknown; params?: unknown };
  if (typeof method !== "string") {
    // This server asks its clients nothing, so an answer of a client is for no request.
    return "result" in message || "error" in message
      ? new Response(null, { status: 202 })
      : refusal(INVALID_REQUEST, NO_MESSAGE);
  }
  const fault = method === "tools/call" ? faultOfCall(params, target.container === null) : null;
  if (fault !== null) return invalidParams((message as { id?: unknown }).id, fault);
  if (method === "initialize" && (typeof params !== "object" || params === null)) {
    return invalidParams((message as { id?: unknown }).id, INITIALIZE);
  }
  if (method === "notifications/cancelled") cancelCall(received, params);
  const structured = new StructuredText(target.by.family);
  const handler = createMcpHandler(() => serverFor(received, structured), {
    // Nothing that a client could subscribe to changes.
    maxSubscriptions: 0,
    onerror: (error) => target.log.pino.debug({ err: error }, "a message of an MCP client was refused"),
  });
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  const response = await handler.fetch(requestOf(call, gone.signal), { parsedBody: message });
  // The library names what is wrong, and not the header.
  if (response.status === 406) return refusal(TRANSPORT_ERROR, ACCEPT, 406);
  if (response.status === 415) return refusal(TRANSPORT_ERROR, "send the header Content-Type: application/json", 415);
  if (method === "initialize" && received.session === null) response.headers.set(SESSION, randomUUID());
  return method === "tools/call" ? structured.insert(response) : response;
}

function serverFor(received: McpCall, structured: StructuredText): McpServer {
  const server = new McpServer(
    { name: "caisson", title: "caisson", version: VERSION },
    {
      capabilities: { tools: { listChanged: false } },
      instructions: instructionsFor(received),
      jsonSchemaValidator: NO_VALIDATOR,
    },
  );
  server.server.setRequestHandler("tools/list", ({ params }) => listTools(received, params?.cursor));
  server.server.fallbackRequestHandler = async ({ method }) => {
    throw new ProtocolError(ProtocolErrorCode.MethodNotFound, otherMethod(method, received));
  };
  server.server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    return structured.take(await callTool(received, mcpReq.id, params));
  });
  return server;
}

/** The tools check what they take themselves, and the service asks no user. A validator would take milliseconds to make. */
const NO_VALIDATOR = {
  getValidator: (): never => {
    throw new Error("no schema of this server is checked here");
  },
};

function requestOf(call: Call, signal: AbortSignal): Request {
  const { incoming } = call.env;
  const headers = READ.flatMap((name): [string, string][] => {
    const value = incoming.headers[name];
    return typeof value === "string" ? [[name, value]] : [];
  });
  return new Request("http://localhost/mcp", { method: "POST", headers, signal });
}

function isMessage(value: unknown): value is object {
  return (value as { jsonrpc?: unknown } | null)?.jsonrpc === "2.0";
}

/** Names what to do instead of a method that this server does not have. */
function otherMethod(method: string, received: McpCall): string {
  const name = method.slice(0, 128);
  const tools = namesOfOwnTools(received);
  if (tools.includes(name))
    return `${name} is a tool: call it by tools/call, with {"name":"${name}","arguments":{...}} as params`;
  return `there is no method ${JSON.stringify(name)}; the methods are initialize, ping, tools/list and tools/call`;
}

/** Returns what is wrong with the params of a call of a tool, or null. The library would answer with the dump of a schema. */
function faultOfCall(params: unknown, namesContainer: boolean): string | null {
  const example = namesContainer ? '{"container":"demo","code":"1"}' : '{"code":"1"}';
  const form = `params must be like {"name":"run_code","arguments":${example}}`;
  if (typeof params !== "object" || params === null || Array.isArray(params)) return form;
  const { name, arguments: given } = params as { name?: unknown; arguments?: unknown };
  if (typeof name !== "string") return `${form}: name is the name of a tool, as text`;
  if (given !== undefined && (typeof given !== "object" || given === null || Array.isArray(given)))
    return `${form}: arguments must be an object, and no text of JSON`;
  const beside = ["code", "container", "data"].find((each) => each in params);
  if (given === undefined && beside !== undefined) return `${form}: put ${beside} into arguments`;
  const other = ["args", "input", "parameters", "params"].find((each) => each in params);
  return given === undefined && other !== undefined ? `${form}: write arguments instead of ${other}` : null;
}

function invalidParams(id: unknown, message: string): Response {
  const known = typeof id === "string" || typeof id === "number" ? id : null;
  return Response.json({ jsonrpc: "2.0", id: known, error: { code: INVALID_PARAMS, message } });
}

function refusal(code: number, message: string, status = 400): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status });
}
