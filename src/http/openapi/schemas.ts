import { z } from "zod";

import { PROBLEMS } from "../../error-codes.ts";
import { WINDOW_NAMES } from "../../limits/windows.ts";
import { VERBS } from "../../tokens/claims.ts";
import { named } from "./operation.ts";

/** Schemas of answers that several paths share. */

const codes = Object.keys(PROBLEMS) as [string, ...string[]];

const taskError = z
  .looseObject({ name: z.string(), message: z.string(), stack: z.string().exactOptional() })
  .meta({ description: "the error that the task threw, with its own members that are JSON" });

export const PROBLEM: z.ZodType = named(
  "Problem",
  z
    .object({
      type: z.string().meta({ description: "the path of the error in the page of errors" }),
      title: z.string(),
      status: z.int(),
      detail: z.string().meta({ description: "what is wrong with this request" }),
      code: z.enum(codes).meta({ description: "stable, for programs" }),
      run: z.string().exactOptional().meta({ description: "the id of the run" }),
      hint: z.string().exactOptional().meta({ description: "what to do" }),
      retryAfter: z.int().exactOptional().meta({ description: "seconds" }),
      retryAfterMs: z.number().exactOptional(),
      violations: z
        .array(z.looseObject({}))
        .exactOptional()
        .meta({ description: "all faults, or all used-up windows" }),
      error: taskError.exactOptional(),
    })
    .meta({ description: "a problem document (RFC 9457)" }),
);

export const NAME = "^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,127}$";

const windows = (each: z.ZodType): z.ZodType =>
  z.object(Object.fromEntries(WINDOW_NAMES.map((window) => [window, each])));

/** Labels as answers show them. */
export const LABELS: z.ZodType = z.record(z.string(), z.string()).meta({ description: "texts by name" });
export const DESCRIPTION: z.ZodType = z.string().nullable().meta({ description: "a text for readers" });

/** The limits that were set, by window. */
export const LIMITS: z.ZodType = named("Limits", windows(z.int().min(1).exactOptional()));

const left = windows(z.int().min(-1).meta({ description: "the runs left; 0: no limit; -1: no run is left" }));
const detail = windows(
  z.object({
    limit: z.int().nullable(),
    remaining: z.int().nullable().meta({ description: "runs that would be admitted now" }),
    used: z.int().meta({ description: "runs that count now" }),
    resetSeconds: z.int().nullable().meta({ description: "seconds until `remaining` next grows" }),
    setBy: z.enum(["server", "policy", "token"]).nullable().meta({ description: "where the limit was set" }),
    jti: z.string().exactOptional().meta({ description: "the token that set it, if you may know it" }),
  }),
);
/** What is left of limits. */
export const LIMIT_STATE: z.ZodType = named("LimitState", z.union([left, detail]));
export const USED: z.ZodType = windows(z.int().nonnegative());

export const CLAIMS: z.ZodType = named(
  "Claims",
  z.object({
    jti: z.string(),
    admin: z.boolean(),
    containers: z.array(z.string()),
    can: z.array(z.enum(VERBS)),
    exp: z.int().nullable(),
    nbf: z.int().nullable(),
    iat: z.int(),
    limits: z.object({ container: LIMITS.exactOptional(), token: LIMITS.exactOptional() }),
    timeout: z.string().nullable(),
    net: z.union([z.literal(false), z.array(z.string()), z.null()]),
    packages: z.union([z.literal(false), z.array(z.string()), z.null()]),
    code: z.object({ url: z.string().exactOptional(), sha256: z.string().exactOptional() }).nullable(),
    params: z.record(z.string(), z.unknown()),
    secretsReadable: z.boolean(),
    fresh: z.boolean(),
    depth: z.int(),
    selfRevoke: z.boolean(),
    labels: LABELS,
    description: DESCRIPTION,
    task: z.string().nullable(),
    parents: z.array(z.string()).meta({ description: "the tokens above, the nearest first" }),
  }),
);

export const LOCK: z.ZodType = named(
  "Lock",
  z.object({
    key: z.string().meta({ description: "the SHA-256 of what decides the build" }),
    ranges: z.record(z.string(), z.string()),
    entries: z.array(z.string()).meta({ description: "what may be imported: packages and their sub-paths" }),
    roots: z.record(z.string(), z.string()).meta({ description: "`name@version` of each package of `ranges`" }),
    packages: z.array(
      z.object({
        name: z.string(),
        version: z.string(),
        integrity: z.string().meta({ description: "`sha512-` and the SHA-512 of the tarball in base64" }),
        dependencies: z.record(z.string(), z.string()),
      }),
    ),
    builder: z.string(),
    requestedBy: z.string().meta({ description: "the `jti` of the token whose request made the lock" }),
    at: z.iso.datetime(),
  }),
);

export const NEXT: z.ZodType = z.string().nullable().meta({ description: "the `cursor` of the next page, or null" });
export const NODES: z.ZodType = named(
  "Nodes",
  z
    .object({ asked: z.int().min(1), answered: z.int().min(1) })
    .meta({ description: "the nodes that the answer covers" }),
);

export const EXAMPLE_LIMITS = { second: 0, minute: 58, hour: 0, day: 940, week: 0, month: 0 };
export const EXAMPLE_JTI = "5f0c2f3e-8c1d-4a3f-9a51-5d7a2f1f9c10";
