import { z } from "zod";

import type { ProblemCode } from "../../error-codes.ts";
import type { Query } from "../api/queries.ts";

export type Method = "get" | "put" | "post" | "delete" | "patch";

/** The name of a response header that the document describes. */
export type HeaderName =
  | "Allow"
  | "Caisson-Fault"
  | "Caisson-Hint"
  | "Caisson-Nodes"
  | "Caisson-Run"
  | "Caisson-Truncated"
  | "Content-Security-Policy"
  | "ETag"
  | "RateLimit"
  | "RateLimit-Policy"
  | "Retry-After"
  | "Server-Timing"
  | "WWW-Authenticate"
  | "X-Accel-Buffering";

/** The name of a request header that the document describes. */
export type RequestHeader = "Accept" | "If-Match" | "If-None-Match" | "Last-Event-ID" | "traceparent";

/** A representation of a body. */
export interface Content {
  readonly type: string;
  /** A schema that `named` has registered. */
  readonly schema: z.ZodType;
  readonly example: unknown;
}

export interface SuccessAnswer {
  readonly status: number;
  readonly description: string;
  /** Empty for an answer without a body. */
  readonly content: readonly Content[];
  readonly headers?: readonly HeaderName[];
}

/** One method of one path. */
export interface Operation {
  readonly method: Method;
  /** With the parameters in braces (OpenAPI 3.1, section 4.8.8). */
  readonly path: string;
  /** A name for generated clients. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** `optional`: the token may be left out, as for a public task. */
  readonly token: "required" | "optional" | "none";
  readonly query?: Query;
  /** Further parameters of the query that the schema of the query does not have. */
  readonly passesQuery?: boolean;
  readonly headers?: readonly RequestHeader[];
  readonly body?: { readonly isRequired: boolean; readonly content: readonly Content[] };
  readonly answers: readonly SuccessAnswer[];
  readonly errors: readonly ProblemCode[];
  /** Whether it starts a run. Its answers then have the headers of the run. */
  readonly startsRun?: boolean;
  /** Whether its answers may have the status, headers and body that a task has set. */
  readonly isOfTask?: boolean;
}

/** The schemas of the document, by their names in it. */
export const SCHEMAS: ReturnType<typeof z.registry<{ id: string }>> = z.registry<{ id: string }>();

/** Adds a schema to the document. */
export function named<T extends z.ZodType>(id: string, schema: T): T {
  SCHEMAS.add(schema, { id });
  return schema;
}

/** The headers of a run. */
export const RUN_HEADERS: readonly HeaderName[] = [
  "Caisson-Run",
  "Server-Timing",
  "RateLimit",
  "RateLimit-Policy",
  "Content-Security-Policy",
];

/** The errors of each path that reads a token. */
export const TOKEN_ERRORS: readonly ProblemCode[] = [
  "request_invalid",
  "credentials_ambiguous",
  "token_missing",
  "token_invalid",
  "token_forbidden",
  "token_limited",
  "auth_limited",
  "internal_error",
  "store_unavailable",
];

/** The errors of each path that reads a body, in addition. */
export const BODY_ERRORS: readonly ProblemCode[] = ["overloaded"];

/** The errors of each path that reads code, in addition: of its text, and of the packages that it imports. */
export const CODE_ERRORS: readonly ProblemCode[] = [
  "code_too_large",
  "code_syntax",
  "code_shape",
  "module_missing",
  "packages_forbidden",
  "packages_not_found",
  "packages_native",
  "packages_too_large",
  "packages_failed",
  "packages_building",
  "packages_unavailable",
];

/** JSON, as almost all answers and many requests are. */
export function jsonContent(schema: z.ZodType, example: unknown): Content[] {
  return [{ type: "application/json", schema, example }];
}

/** An answer of JSON. */
export function ok(description: string, schema: z.ZodType, example: unknown, status = 200): SuccessAnswer {
  return { status, description, content: jsonContent(schema, example) };
}
