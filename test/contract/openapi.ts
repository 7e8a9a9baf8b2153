import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { dereference, type OutputUnit, type Schema, validate } from "@cfworker/json-schema";

import type { Answer } from "./http.ts";

/** Headers of the connection and of the body, which HTTP itself defines. */
const OF_HTTP = new Set(["connection", "content-length", "content-type", "date", "keep-alive", "transfer-encoding"]);
/** Errors of a request whose path does not matter. */
const OF_ANY_PATH = new Set(["method_not_allowed", "request_invalid", "overloaded", "draining"]);

interface Media {
  readonly schema?: object;
  readonly example?: unknown;
}
interface Response {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, object>>;
  readonly content?: Readonly<Record<string, Media>>;
}
interface Operation {
  readonly responses: Readonly<Record<string, Response>>;
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly responses: Readonly<Record<string, Response>>; readonly schemas: object };
}

interface Checker {
  readonly document: Document;
  /** Its last parameter decides whether members that the schema does not name are faults. */
  readonly faultsOf: (schema: object, value: unknown, isAnswer: boolean) => OutputUnit[];
}

/** The base of the references between schemas. Nothing is read from there. */
const BASE = new URL("https://openapi.invalid/");

/** scripts/run-tests.ts writes the document once for all files, because its schemas take a tenth of a second to load. */
const FILE = process.env["TEST_OPENAPI"];
const TEXT =
  FILE === undefined
    ? JSON.stringify((await import("../../src/http/openapi/document.ts")).openApiDocument())
    : readFileSync(FILE, "utf8");

let made: Checker | null = null;

function checker(): Checker {
  return (made ??= makeChecker());
}

/** Compiles nothing, because most processes check few answers. */
function makeChecker(): Checker {
  const document = JSON.parse(TEXT) as Document;
  const schemasOf = (isAnswer: boolean): ((schema: object) => [Schema, ReturnType<typeof dereference>]) => {
    const prepare = (schema: unknown): Schema => (isAnswer ? close(schema) : structuredClone(schema)) as Schema;
    const { schemas } = document.components;
    const lookup = dereference(
      prepare({ components: { schemas } }),
      Object.create(null) as ReturnType<typeof dereference>,
      BASE,
    );
    const prepared = new Map<object, Schema>();
    return (schema) => {
      let own = prepared.get(schema);
      if (!own) {
        prepared.set(schema, (own = prepare(schema)));
        dereference(own, lookup, BASE, `/checked/${prepared.size}`);
      }
      return [own, lookup];
    };
  };
  const kinds = { answer: schemasOf(true), request: schemasOf(false) };
  return {
    document,
    faultsOf: (schema, value, isAnswer) => {
      const [own, lookup] = kinds[isAnswer ? "answer" : "request"](schema);
      return validate(value, own, "2020-12", lookup, false).errors;
    },
  };
}

/** Returns a schema with objects that have no members but those that it names. Clients must expect new ones; tests do not. */
function close(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => close(each));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, each]) => [name, close(each)] as const);
  const closed = Object.fromEntries(entries) as Record<string, unknown>;
  const isOpenObject = closed["type"] === "object" && "properties" in closed && !("additionalProperties" in closed);
  return isOpenObject ? { ...closed, additionalProperties: false } : closed;
}

/**
 * Checks an answer of a service against its OpenAPI document: the status, the headers, the type and the body. An answer
 * that a task has made, and an answer to a request for no path of the document, are free.
 */
export function checkAnswer(method: string, target: string, answer: Answer): void {
  const { document, faultsOf } = checker();
  const operation = find(document, method, target);
  const type = (answer.headers["content-type"] ?? "").split(";", 1)[0]!;
  const isProblem = type === "application/problem+json" && answer.headers["caisson-fault"] !== undefined;
  if (!operation) return;
  const what = `${method} ${target.slice(0, 200)} answered ${answer.status} ${answer.text.slice(0, 500)}`;
  const isOfTask = "default" in operation.responses;
  if (isOfTask && !isProblem) return;
  const { code } = isProblem ? (answer.json() as { code: string }) : { code: "" };
  if (OF_ANY_PATH.has(code)) return;
  // A task may answer its own errors with another status.
  if (isOfTask && answer.headers["caisson-fault"] === "task") return;
  const found = operation.responses[answer.status];
  assert.ok(found, `no such status in OpenAPI: ${what}`);
  const response = found.$ref ? document.components.responses[found.$ref.split("/").at(-1)!]! : found;
  const names = new Set(Object.keys(response.headers ?? {}).map((name) => name.toLowerCase()));
  const unknown = Object.keys(answer.headers).filter((name) => !names.has(name) && !OF_HTTP.has(name));
  if (!isOfTask) assert.deepEqual(unknown, [], `headers that OpenAPI does not have: ${what}`);
  if (!answer.complete || method === "HEAD" || answer.status === 304) return;
  const media = response.content?.[type];
  assert.ok(media, `no such type in OpenAPI: ${type}: ${what}`);
  if (!media.schema) return;
  const body = /\bjson$/.test(type) ? answer.json() : answer.text;
  const faults = faultsOf(media.schema, body, true);
  assert.ok(faults.length === 0, `${JSON.stringify(faults.slice(0, 5))}: ${what}`);
}

function find(document: Document, method: string, target: string): Operation | null {
  const path = target.split("?", 1)[0]!;
  const segments = path.split("/");
  let best: Operation | null = null;
  for (const [template, item] of Object.entries(document.paths)) {
    const parts = template.split("/");
    const isMatch =
      parts.length === segments.length &&
      parts.every((part, at) => part === segments[at] || (part.startsWith("{") && segments[at] !== ""));
    const operation = item[method.toLowerCase()];
    // A path without a parameter comes before one with it.
    if (isMatch && operation && (best === null || !template.endsWith("}"))) best = operation;
  }
  return best;
}

/** Checks all examples of the document against their schemas. @returns their number */
export function checkExamples(): number {
  const { document, faultsOf } = checker();
  const all: (readonly [what: string, media: Media, isAnswer: boolean])[] = [];
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      if (method === "parameters") continue;
      const requests = Object.values(operation.requestBody?.content ?? {});
      const answers = Object.values(operation.responses).flatMap(({ content }) => Object.values(content ?? {}));
      all.push(...requests.map((media) => [`${method} ${path}`, media, false] as const));
      all.push(...answers.filter(({ schema }) => schema).map((media) => [`${method} ${path}`, media, true] as const));
    }
  }
  for (const [what, { schema, example }, isAnswer] of all) {
    assert.notEqual(example, undefined, what);
    assert.deepEqual(faultsOf(schema!, example, isAnswer), [], `the example of ${what}`);
  }
  return all.length;
}
