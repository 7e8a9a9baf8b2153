import { z } from "zod";

import { didYouMean } from "../nearest.ts";

/** A JSON Schema of an object, such as the input of a task that is a tool. */
export type InputSchema = Readonly<Record<string, unknown>>;

/** The most bytes of a schema as JSON. Each client of a tool reads it, and models pay for each word. */
const MAX_BYTES = 16_384;
/** The most levels of arrays and objects: a schema that nests deeper exhausts the stack of clients that walk it. */
const MAX_DEPTH = 32;
/**
 * The most properties of Unicode, such as `\p{L}`, in all regular expressions of a schema. Each takes up to 60 µs to compile, on the
 * thread of the service. All other parts of a regular expression take almost nothing until it is executed.
 */
const MAX_UNICODE_PROPERTIES = 64;
/** The beginning of a property in JSON, where a backslash is written twice. */
const UNICODE_PROPERTY = /\\\\p\{/gi;

const DIALECTS: readonly unknown[] = [
  "https://json-schema.org/draft/2020-12/schema",
  "http://json-schema.org/draft-07/schema#",
  "http://json-schema.org/draft-07/schema",
];
const TYPES: readonly unknown[] = ["object", "array", "string", "number", "integer", "boolean", "null"];

type Check = (value: unknown, root: unknown) => string | null;

const is = (matches: (value: unknown) => boolean, what: string): Check => {
  return (value) => (matches(value) ? null : `must be ${what}`);
};
const isText = (value: unknown): value is string => typeof value === "string";
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isObject = (value: unknown): value is InputSchema => {
  return typeof value === "object" && value !== null && !Array.isArray(value);
};
const isTypes = (value: unknown): boolean => {
  return Array.isArray(value) ? value.length > 0 && value.every((each) => TYPES.includes(each)) : TYPES.includes(value);
};

const any: Check = () => null;
const text = is(isText, "a string");
const flag = is((value) => typeof value === "boolean", "true or false");
const list = is(Array.isArray, "an array");
const texts = is(isTexts, "an array of strings");
const number = is(Number.isFinite, "a number");
const count = is((value) => Number.isSafeInteger(value) && Number(value) >= 0, "a whole number from 0");
const regularExpression: Check = (value) => {
  return isText(value) && isPattern(value) ? null : "must be a regular expression of JavaScript, with the flag u";
};
const reference: Check = (value, root) => {
  if (!isText(value) || !value.startsWith("#")) return "must begin with #, because no other schema is read";
  return isSchema(resolve(value, root)) ? null : "leads to no schema in this one";
};

/** The keywords that contain no schema (JSON Schema 2020-12, and those of draft 7 that it has replaced). */
const PLAIN: Readonly<Record<string, Check>> = {
  $schema: is((value) => DIALECTS.includes(value), "the URL of 2020-12 or of draft 7"),
  $ref: reference,
  $comment: text,
  title: text,
  description: text,
  default: any,
  examples: list,
  deprecated: flag,
  readOnly: flag,
  writeOnly: flag,
  type: is(isTypes, `one of ${TYPES.join(", ")}, or an array of these`),
  enum: list,
  const: any,
  multipleOf: is((value) => Number.isFinite(value) && Number(value) > 0, "a number above 0"),
  maximum: number,
  exclusiveMaximum: number,
  minimum: number,
  exclusiveMinimum: number,
  maxLength: count,
  minLength: count,
  pattern: regularExpression,
  format: text,
  contentEncoding: text,
  contentMediaType: text,
  maxItems: count,
  minItems: count,
  uniqueItems: flag,
  maxContains: count,
  minContains: count,
  maxProperties: count,
  minProperties: count,
  required: texts,
  dependentRequired: is((value) => isObject(value) && Object.values(value).every(isTexts), "an object of arrays"),
};
/** The keywords with a schema, with a list of schemas, and with schemas by name. */
const WITH_SCHEMA = [
  ...["additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"],
  ...["propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"],
];
const WITH_LIST = ["allOf", "anyOf", "oneOf", "prefixItems"];
const WITH_NAMES = ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];
const KEYWORDS = [...Object.keys(PLAIN), ...WITH_SCHEMA, ...WITH_LIST, ...WITH_NAMES];

const NO_OBJECT =
  'must have the type "object", because the arguments of a tool are an object: {"type": "object", "properties": {"n": {"type": "number"}}}';

/**
 * Returns the first fault of the schema of an input, or null. A schema that passes can be evaluated, but may take any time:
 * see `input-check.ts`.
 */
export function faultOfInputSchema(schema: unknown): string | null {
  if (!isObject(schema)) return 'must be a JSON Schema such as {"type": "object"}, or null';
  const json = JSON.stringify(schema);
  const bytes = Buffer.byteLength(json);
  if (bytes > MAX_BYTES) return `has ${bytes} bytes as JSON; at most ${MAX_BYTES} are allowed`;
  const properties = json.match(UNICODE_PROPERTY)?.length ?? 0;
  if (properties > MAX_UNICODE_PROPERTIES) {
    return (
      `uses ${properties} properties of Unicode such as \\p{L} in its regular expressions; ` +
      `at most ${MAX_UNICODE_PROPERTIES} are allowed`
    );
  }
  if (isDeeper(schema, MAX_DEPTH)) return `has more than ${MAX_DEPTH} levels`;
  if (schema["type"] !== "object") return NO_OBJECT;
  return faultAt(schema, "", schema);
}

/** The member `input` of a task. */
export const inputMember: z.ZodType<InputSchema> = z
  .unknown()
  .transform((input, context) => {
    const fault = faultOfInputSchema(input);
    if (fault === null) return input as InputSchema;
    context.addIssue({ code: "custom", message: fault });
    return z.NEVER;
  })
  .meta({ type: "object" });

/** @param path the place of the schema, such as `.properties.n` */
function faultAt(schema: unknown, path: string, root: unknown): string | null {
  if (typeof schema === "boolean") return null;
  if (!isObject(schema)) return `${at(path)}must be a schema: an object, true or false`;
  for (const [keyword, value] of Object.entries(schema)) {
    const place = `${path}.${keyword.slice(0, MAX_SHOWN)}`;
    const fault = faultOfKeyword(keyword, value, place, root);
    if (fault !== null) return fault;
  }
  return null;
}

/** The most characters of a name that a fault shows. */
const MAX_SHOWN = 64;

function faultOfKeyword(keyword: string, value: unknown, place: string, root: unknown): string | null {
  if (Object.hasOwn(PLAIN, keyword)) {
    const fault = PLAIN[keyword]!(value, root);
    return fault === null ? null : `${at(place)}${fault}`;
  }
  // In draft 7, `items` may be a list too.
  const isList = WITH_LIST.includes(keyword) || (keyword === "items" && Array.isArray(value));
  if (isList) return Array.isArray(value) ? faultOfList(value, place, root) : `${at(place)}must be an array of schemas`;
  if (WITH_SCHEMA.includes(keyword)) return faultAt(value, place, root);
  if (WITH_NAMES.includes(keyword)) {
    if (!isObject(value)) return `${at(place)}must be an object of schemas`;
    return faultOfNames(value, place, root, keyword === "patternProperties");
  }
  // A client must send the values of such members as headers, and ignores tools whose schema uses this wrongly.
  if (keyword.startsWith("x-") && keyword !== "x-mcp-header") return null;
  return `${at(place)}is no keyword that is supported here${didYouMean(keyword, KEYWORDS)}`;
}

function faultOfList(schemas: readonly unknown[], place: string, root: unknown): string | null {
  for (const [index, schema] of schemas.entries()) {
    const fault = faultAt(schema, `${place}.${index}`, root);
    if (fault !== null) return fault;
  }
  return null;
}

function faultOfNames(schemas: InputSchema, place: string, root: unknown, arePatterns: boolean): string | null {
  for (const [name, schema] of Object.entries(schemas)) {
    const member = `${place}.${name.slice(0, MAX_SHOWN)}`;
    if (arePatterns && !isPattern(name)) return `${at(member)}is no regular expression of JavaScript with the flag u`;
    const fault = faultAt(schema, member, root);
    if (fault !== null) return fault;
  }
  return null;
}

function at(path: string): string {
  return path === "" ? "" : `at ${path.slice(1)}: `;
}

function isSchema(value: unknown): boolean {
  return typeof value === "boolean" || isObject(value);
}

function isPattern(source: string): boolean {
  try {
    return new RegExp(source, "u").source !== "";
  } catch {
    return false;
  }
}

/** Follows a JSON Pointer in a URI fragment (RFC 6901, section 6). */
function resolve(ref: string, root: unknown): unknown {
  if (ref === "#") return root;
  if (!ref.startsWith("#/")) return undefined;
  let found: unknown = root;
  for (const step of ref.slice(2).split("/")) {
    const name = unescaped(step);
    if (typeof found !== "object" || found === null || name === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as InputSchema)[name];
  }
  return found;
}

function unescaped(step: string): string | null {
  try {
    return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return null;
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1));
}
