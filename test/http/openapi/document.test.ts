import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Validator } from "@seriousme/openapi-schema-validator";

import { PROBLEMS } from "../../../src/error-codes.ts";
import { makeApi } from "../../../src/http/api/api.ts";
import type { ApiDependencies } from "../../../src/http/api/route.ts";
import { openApiDocument, OPERATIONS } from "../../../src/http/openapi/document.ts";
import { checkExamples } from "../../contract/openapi.ts";

/** The routes of the listener, which does not leave them to the API. */
const RUN_PATHS = ["/api/run/{container}", "/api/run/{container}/{task}", "/api/run/{container}/{task}/{path}"];
const RUN_METHODS = ["get", "post", "put", "patch", "delete"];

/** Stands for any dependency of the API, whose routes are only listed. */
const anything: object = new Proxy(() => anything, { get: () => anything });

function routes(): string[] {
  const api = makeApi(anything as ApiDependencies);
  const own = api.routes
    .filter(({ method }) => method !== "ALL" && method !== "OPTIONS")
    .map(({ method, path }) => `${method.toLowerCase()} ${path.replaceAll(/:(\w+)(?:\{[^}]*\})?/g, "{$1}")}`);
  return [...own, ...RUN_PATHS.flatMap((path) => RUN_METHODS.map((method) => `${method} ${path}`))];
}

/** Removes the names of the parameters, which a router and a document may choose differently. */
function unnamed(route: string): string {
  return route.replaceAll(/\{\w+\}/g, "{}");
}

describe("the OpenAPI document", () => {
  it("is valid to a public validator", async () => {
    const { valid, errors } = await new Validator().validate(
      JSON.parse(JSON.stringify(openApiDocument())) as Record<string, never>,
    );
    assert.ok(valid, JSON.stringify(errors)?.slice(0, 2_000));
  });

  it("describes each method of each path, and nothing else", () => {
    const described = OPERATIONS.map(({ method, path }) => `${method} ${path}`);
    assert.equal(new Set(described).size, described.length);
    assert.deepEqual(described.map(unnamed).toSorted(), routes().map(unnamed).toSorted());
  });

  it("gives each operation a unique name", () => {
    assert.equal(new Set(OPERATIONS.map(({ id }) => id)).size, OPERATIONS.length);
  });

  it("names each error somewhere", () => {
    const named = new Set(OPERATIONS.flatMap(({ errors }) => errors));
    assert.deepEqual(
      Object.keys(PROBLEMS).filter((code) => !named.has(code as never)),
      [],
    );
  });

  it("has an example of each request and each answer, which its own schema accepts", () => {
    assert.ok(checkExamples() > 60);
  });

  it("describes each member of a request for a token or a task", () => {
    const { components } = openApiDocument() as {
      components: { schemas: Record<string, { properties: Record<string, { description?: string }> }> };
    };
    for (const name of ["TokenRequest", "TaskRequest"]) {
      const plain = Object.entries(components.schemas[name]!.properties).filter(([, { description }]) => !description);
      assert.deepEqual(
        plain.map(([member]) => member),
        [],
        name,
      );
    }
  });
});
