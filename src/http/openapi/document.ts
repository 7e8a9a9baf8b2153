import { z } from "zod";

import { VERSION } from "../headers.ts";
import { CHECK_OPERATIONS } from "./check-operations.ts";
import { CONTAINER_OPERATIONS } from "./container-operations.ts";
import { HEADERS, headersOf, REQUEST_HEADERS } from "./header-table.ts";
import { MCP_OPERATIONS } from "./mcp-operations.ts";
import { describeMembers } from "./members.ts";
import { type Content, type Operation, SCHEMAS, type SuccessAnswer } from "./operation.ts";
import { PACKAGE_OPERATIONS } from "./package-operations.ts";
import { ProblemResponses } from "./problem-responses.ts";
import { PUBLIC_OPERATIONS } from "./public-operations.ts";
import { RECORD_OPERATIONS } from "./record-operations.ts";
import { RUN_OPERATIONS } from "./run-operations.ts";
import { NAME, PROBLEM } from "./schemas.ts";
import { SYSTEM_OPERATIONS } from "./system-operations.ts";
import { TASK_OPERATIONS } from "./task-operations.ts";
import { TOKEN_OPERATIONS } from "./token-operations.ts";

/** JSON of the document. */
export type Json = { [name: string]: unknown };

export const OPERATIONS: readonly Operation[] = [
  ...RUN_OPERATIONS,
  ...CHECK_OPERATIONS,
  ...TASK_OPERATIONS,
  ...PACKAGE_OPERATIONS,
  ...RECORD_OPERATIONS,
  ...TOKEN_OPERATIONS,
  ...CONTAINER_OPERATIONS,
  ...SYSTEM_OPERATIONS,
  ...MCP_OPERATIONS,
  ...PUBLIC_OPERATIONS,
];

/** Returns the description of the whole HTTP API (OpenAPI 3.1.1), made from the schemas that check requests. */
export function openApiDocument(): Json {
  const paths: Record<string, Json> = {};
  const problems = new ProblemResponses(reference(PROBLEM));
  for (const operation of OPERATIONS) {
    const item = (paths[operation.path] ??= parametersOfPath(operation.path));
    item[operation.method] = operationObject(operation, problems);
  }
  return {
    openapi: "3.1.1",
    info: {
      title: "caisson",
      version: VERSION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      description:
        "Runs untrusted JavaScript and TypeScript in isolated containers, and limits every container and every token.",
    },
    servers: [{ url: "/" }],
    security: [],
    tags: [...new Set(OPERATIONS.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: schemas(),
      headers: HEADERS,
      responses: problems.components,
      examples: problems.examples,
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          bearerFormat: "JWT",
          description: "a token that the service has issued",
        },
        key: {
          type: "apiKey",
          in: "query",
          name: "key",
          description: "the same token; --no-query-key switches this off",
        },
      },
    },
  };
}

function schemas(): Json {
  const { schemas: made } = z.toJSONSchema(SCHEMAS, {
    io: "input",
    unrepresentable: "any",
    uri: (id) => `#/components/schemas/${id}`,
  });
  // The schemas of OpenAPI have the dialect of the document, and no name of their own.
  for (const schema of Object.values(made)) {
    delete schema.$schema;
    delete schema.$id;
  }
  describeMembers(made);
  return made;
}

function operationObject(operation: Operation, problems: ProblemResponses): Json {
  const { id, tag, summary, description, token, query, headers = [], body, answers } = operation;
  const parameters = [...(query ? queryParameters(query) : []), ...headers.map((name) => REQUEST_HEADERS[name])];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: body.isRequired, content: contents(body.content) } }),
    ...(token !== "none" && { security: [{ bearer: [] }, { key: [] }, ...(token === "optional" ? [{}] : [])] }),
    responses: { ...problems.of(operation), ...successes(operation, answers) },
  };
}

function parametersOfPath(path: string): Json {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  if (names.length === 0) return {};
  const parameters = names.map((name) => ({ name, in: "path", required: true, ...PATH_PARAMETERS[name] }));
  return { parameters };
}

const PATH_PARAMETERS: Readonly<Record<string, Json>> = {
  container: { description: "the name of a container", schema: { type: "string", pattern: NAME }, example: "acme" },
  task: { description: "the name of a task", schema: { type: "string", pattern: NAME }, example: "hook" },
  file: { description: "the name of a file", schema: { type: "string" }, example: "index.js" },
  path: { description: "the rest of the path", schema: { type: "string" }, example: "orders" },
  jti: {
    description: "the `jti` of a token",
    schema: { type: "string" },
    example: "5f0c2f3e-8c1d-4a3f-9a51-5d7a2f1f9c10",
  },
  key: {
    description: "the key of a lock",
    schema: { type: "string", pattern: "^[0-9a-f]{64}$" },
    example: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  },
  package: {
    description: "a package such as `zod`, `lodash@4` or `@acme/*`",
    schema: { type: "string" },
    example: "zod",
  },
  version: {
    description: "the number of a version of a task",
    schema: { type: "string", pattern: "^[1-9][0-9]{0,8}$" },
    example: "3",
  },
  run: {
    description: "the id of a run, which `Caisson-Run` has",
    schema: { type: "string", pattern: "^[0-9a-f]{12}-[0-9a-z]{1,12}$" },
    example: "e506c653c0d4-2",
  },
};

function queryParameters(query: NonNullable<Operation["query"]>): Json[] {
  return Object.entries(query.shape).map(([name, schema]) => {
    const { $schema: _, description, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
    return { name, in: "query", required: false, ...(description !== undefined && { description }), schema: rest };
  });
}

function successes({ isOfTask = false }: Operation, answers: readonly SuccessAnswer[]): Json {
  const entries = answers.map(({ status, description, content, headers = [] }): [string, Json] => [
    String(status),
    { description, headers: headersOf(headers), ...(content.length > 0 && { content: contents(content) }) },
  ]);
  // A task chooses any status.
  if (isOfTask) entries.push(["default", { description: "what a `Response` of the task has", content: { "*/*": {} } }]);
  return Object.fromEntries(entries);
}

function contents(list: readonly Content[]): Json {
  return Object.fromEntries(list.map(({ type, schema, example }) => [type, { schema: reference(schema), example }]));
}

function reference(schema: z.ZodType): Json {
  const id = SCHEMAS.get(schema)?.id;
  if (id === undefined) throw new Error("a schema of the document has no name");
  return { $ref: `#/components/schemas/${id}` };
}
