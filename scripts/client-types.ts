/** Writes `client/src/api-types.ts`, which a test compares with the OpenAPI document. */
import { writeFileSync } from "node:fs";

import { openApiDocument } from "../src/http/openapi/document.ts";

type Schema = Readonly<Record<string, unknown>>;
type Media = Readonly<Record<string, { readonly schema?: Schema }>>;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
  readonly schema: Schema;
}

interface Operation {
  readonly summary: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Media };
  readonly responses: Readonly<Record<string, { readonly content?: Media }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const METHODS = ["get", "put", "post", "delete", "patch"] as const;
const HEAD = "// Generated from the OpenAPI document of the service by `npm run docs`.\n\n";

/** Returns the types of the HTTP API: one for each schema of the document, and `Routes` with the types of each operation. */
export function clientTypes(): string {
  const { paths, components } = JSON.parse(JSON.stringify(openApiDocument())) as Document;
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) => `${comment(schema["description"], "")}export type ${name} = ${typeOf(schema, "")};\n`,
  );
  const routes = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item).map((method) =>
      route(method, path, item[method] as Operation, (item["parameters"] ?? []) as Parameter[]),
    ),
  );
  return `${HEAD}${schemas.join("\n")}
/** The types of each operation, by its method and path. */
export interface Routes {
${routes.join("")}}
`;
}

function route(method: string, path: string, operation: Operation, ofPath: readonly Parameter[]): string {
  const query = (operation.parameters ?? []).filter((parameter) => parameter.in === "query");
  const success = operation.responses["200"] ?? operation.responses["201"];
  const accepted = operation.responses["202"];
  const answers = [bodyOf(success?.content), ...(accepted ? [bodyOf(accepted.content)] : [])].join(" | ");
  return `${comment(operation.summary, "  ")}  "${method.toUpperCase()} ${path}": {
    path: ${membersOf(ofPath, "    ", true)};
    query: ${membersOf(query, "    ", false)};
    body: ${bodyOf(operation.requestBody?.content)};
    answer: ${answers};
  };
`;
}

function membersOf(parameters: readonly Parameter[], indent: string, isRequired: boolean): string {
  return object(
    parameters.map(({ name, description, schema }) => ({ name, schema: { ...schema, description }, isRequired })),
    undefined,
    indent,
  );
}

/** Returns the type of a body: that of its JSON, or `string` for a text. */
function bodyOf(content: Media | undefined): string {
  const json = Object.entries(content ?? {}).find(([type]) => /\bjson$/.test(type))?.[1].schema;
  if (json) return typeOf(json, "    ");
  return content === undefined ? "undefined" : "string";
}

function typeOf(schema: Schema, indent: string): string {
  const { $ref, enum: values, const: value, anyOf, oneOf, allOf, type } = schema as Record<string, Schema[] & Schema>;
  if (typeof $ref === "string") return ($ref as string).split("/").at(-1)!;
  if ("const" in schema) return JSON.stringify(value);
  if (values) return isBoolean(values) ? "boolean" : values.map((each) => JSON.stringify(each)).join(" | ");
  if (anyOf ?? oneOf) return [...new Set((anyOf ?? oneOf)!.map((each) => typeOf(each, indent)))].join(" | ");
  if (allOf) return allOf.map((each) => `(${typeOf(each, indent)})`).join(" & ");
  if (Array.isArray(type)) return type.map((each) => typeOf({ ...schema, type: each }, indent)).join(" | ");
  return plainType(type, schema, indent);
}

function plainType(type: unknown, schema: Schema, indent: string): string {
  if (type === "string" || type === "boolean" || type === "null") return type;
  if (type === "integer" || type === "number") return "number";
  if (type === "array") {
    const each = typeOf((schema["items"] ?? {}) as Schema, indent);
    return each.includes(" ") && !each.startsWith("{") ? `(${each})[]` : `${each}[]`;
  }
  if (type !== "object") return "unknown";
  const required = new Set((schema["required"] ?? []) as string[]);
  const members = Object.entries((schema["properties"] ?? {}) as Record<string, Schema>);
  return object(
    members.map(([name, member]) => ({ name, schema: member, isRequired: required.has(name) })),
    schema["additionalProperties"] ?? (members.length === 0 ? {} : undefined),
    indent,
  );
}

interface Member {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/** @param others the schema of members that are not named; false or undefined if there are none */
function object(members: readonly Member[], others: unknown, indent: string): string {
  const inner = `${indent}  `;
  const lines = members.map(({ name, schema, isRequired }) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    const type = typeOf(schema, inner);
    return `${comment(schema["description"], inner)}${inner}${key}${isRequired ? ": " : "?: "}${type}${isRequired || type === "unknown" ? "" : " | undefined"};\n`;
  });
  if (typeof others === "object" && others !== null) {
    // An index type of some type would have to hold for the named members, too.
    lines.push(`${inner}[name: string]: ${members.length > 0 ? "unknown" : typeOf(others as Schema, inner)};\n`);
  }
  return lines.length === 0 ? "{}" : `{\n${lines.join("")}${indent}}`;
}

/** A parameter of a query has only texts. */
function isBoolean(values: readonly unknown[]): boolean {
  return values.length === 2 && values.includes("true") && values.includes("false");
}

function comment(text: unknown, indent: string): string {
  return typeof text === "string" ? `${indent}/** ${text.replaceAll("*/", "*\\/")} */\n` : "";
}

if (import.meta.main) writeFileSync("client/src/api-types.ts", clientTypes());
