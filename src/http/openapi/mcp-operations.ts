import { z } from "zod";

import { BODY_ERRORS, jsonContent, named, type Operation, TOKEN_ERRORS } from "./operation.ts";
import { PROBLEM } from "./schemas.ts";

const TAG = "MCP";

const message = named(
  "McpMessage",
  z.looseObject({
    jsonrpc: z.literal("2.0"),
    id: z.union([z.string(), z.int()]).exactOptional(),
    method: z.string().exactOptional(),
  }),
);
const text = named("Text", z.string());

const REQUEST = {
  ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
  params: { name: "run_code", arguments: { code: "6 * 7" } },
};
const ANSWER = { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "42" }] } };
const NO_TOKEN = {
  ...{ type: "/errors#token_missing", title: "The request has no token", status: 401, code: "token_missing" },
  detail: "the request contains no token",
};

function operation(path: string, id: string, summary: string): Operation {
  return {
    method: "post",
    path,
    id,
    tag: TAG,
    summary,
    description:
      "A message of the Model Context Protocol (2026-07-28, or 2025-11-25 and earlier), with `Accept: application/json, text/event-stream`. A missing or invalid token is answered with 401. A page may send it from the own origin, or from one of `--mcp-origin`.",
    token: "required",
    headers: ["Accept"],
    body: { isRequired: true, content: jsonContent(message, REQUEST) },
    answers: [
      {
        status: 200,
        description: "the answer, as JSON or as an event",
        content: [
          ...jsonContent(message, ANSWER),
          { type: "text/event-stream", schema: text, example: `event: message\ndata: ${JSON.stringify(ANSWER)}\n\n` },
        ],
      },
      {
        status: 401,
        description: "the token is missing or invalid",
        content: [{ type: "application/problem+json", schema: PROBLEM, example: NO_TOKEN }],
        headers: ["Caisson-Fault", "WWW-Authenticate"],
      },
      { status: 202, description: "a notification is accepted", content: [] },
    ],
    errors: [
      ...TOKEN_ERRORS,
      ...BODY_ERRORS,
      ...(["origin_forbidden", "container_invalid", "code_too_large", "method_not_allowed"] as const),
    ],
  };
}

export const MCP_OPERATIONS: readonly Operation[] = [
  operation("/mcp/{container}", "sendMcpMessageToContainer", "Use the tools of a container"),
  operation("/mcp", "sendMcpMessage", "Use the tools of the only container of the token, or name one in each call"),
];
