import { z } from "zod";

import { named, ok, type Operation, TOKEN_ERRORS } from "./operation.ts";

const TAG = "Service";

const losses = z.looseObject({});
const health = named(
  "Health",
  z.object({
    status: z.string().meta({ description: "`ok`, or why the service takes no runs" }),
    isolation: z.string(),
    insteadOf: z.string().exactOptional().meta({ description: "why no stronger level of isolation is in use" }),
    failedUnheard: z.int().exactOptional(),
    egressRefused: z.record(z.string(), z.int()).exactOptional(),
    records: z.record(z.string(), losses).exactOptional().meta({ description: "what was lost of the records" }),
    version: z.string(),
  }),
);
const jwks = named("KeySet", z.object({ keys: z.array(z.looseObject({ kty: z.string(), kid: z.string() })) }));
const html = named("Html", z.string());
const markdown = named("Markdown", z.string());
const text = named("Text", z.string());
const metrics = named("Metrics", z.string());
const openApi = named("OpenApi", z.looseObject({ openapi: z.string() }));
const index = named(
  "Index",
  z.object({
    service: z.string(),
    version: z.string(),
    openapi: z.string(),
    errors: z.string(),
    health: z.string(),
    llms: z.string(),
    documents: z.string(),
  }),
);
const HEALTHY = { status: "ok", isolation: "namespaces", version: "1.0.0" };

const healthAt = (path: string, id: string, summary: string): Operation => ({
  method: "get",
  path,
  id,
  tag: TAG,
  summary,
  token: "none",
  answers: [
    ok("the service takes runs", health, HEALTHY),
    { ...ok("the service takes no runs", health, HEALTHY, 503), headers: ["Caisson-Fault"] },
  ],
  errors: ["internal_error"],
});

export const PUBLIC_OPERATIONS: readonly Operation[] = [
  {
    method: "get",
    path: "/",
    id: "getIndex",
    tag: TAG,
    summary: "Name the paths of this document and of the page of errors",
    token: "none",
    headers: ["Accept"],
    answers: [
      {
        status: 200,
        description: "JSON, or a page for a browser",
        content: [
          {
            type: "application/json",
            schema: index,
            example: {
              service: "caisson",
              version: "1.0.0",
              openapi: "/openapi.json",
              errors: "/errors",
              health: "/healthz",
              llms: "/llms.txt",
              documents: "README.md and docs/ in the folder of caisson",
            },
          },
          { type: "text/html", schema: html, example: "<!doctype html>..." },
        ],
      },
    ],
    errors: ["internal_error"],
  },
  {
    method: "get",
    path: "/console/{file}",
    id: "getConsoleFile",
    tag: TAG,
    summary: "Read a file of the web console",
    token: "none",
    answers: [
      {
        status: 200,
        description: "the file",
        content: [
          { type: "text/javascript", schema: text, example: "" },
          { type: "text/css", schema: text, example: "" },
        ],
      },
    ],
    errors: ["not_found", "internal_error"],
  },
  {
    method: "get",
    path: "/openapi.json",
    id: "getOpenApi",
    tag: TAG,
    summary: "Read this document",
    token: "none",
    answers: [ok("this document", openApi, { openapi: "3.1.1" })],
    errors: ["internal_error"],
  },
  {
    method: "get",
    path: "/llms.txt",
    id: "getLlmsText",
    tag: TAG,
    summary: "Read how a language model uses this service",
    token: "none",
    answers: [
      {
        status: 200,
        description: "a page in Markdown (https://llmstxt.org)",
        content: [{ type: "text/plain", schema: markdown, example: "# caisson\n" }],
      },
    ],
    errors: ["internal_error"],
  },
  healthAt("/healthz", "getHealth", "Read whether the service takes runs"),
  healthAt("/readyz", "getReadiness", "Read whether the service takes runs, as /healthz"),
  {
    method: "get",
    path: "/metrics",
    id: "getMetrics",
    tag: TAG,
    summary: "Read the metrics of this node",
    description: "For administrators, and for a collector with the token of --metrics-token.",
    token: "required",
    answers: [
      {
        status: 200,
        description: "the text format of Prometheus",
        content: [
          {
            type: "text/plain",
            schema: metrics,
            example: "# HELP caisson_ready 1 if the service takes runs\n# TYPE caisson_ready gauge\ncaisson_ready 1\n",
          },
        ],
      },
    ],
    errors: TOKEN_ERRORS,
  },
  {
    method: "get",
    path: "/.well-known/jwks.json",
    id: "getKeys",
    tag: TAG,
    summary: "Read the public keys of the tokens (RFC 7517)",
    token: "none",
    answers: [
      {
        status: 200,
        description: "the keys",
        content: [{ type: "application/jwk-set+json", schema: jwks, example: { keys: [] } }],
      },
    ],
    errors: ["internal_error"],
  },
  {
    method: "get",
    path: "/errors",
    id: "getErrors",
    tag: TAG,
    summary: "Read the page of all errors",
    token: "none",
    answers: [
      {
        status: 200,
        description: "a page",
        content: [{ type: "text/html", schema: html, example: "<!doctype html>..." }],
      },
    ],
    errors: ["internal_error"],
  },
];
