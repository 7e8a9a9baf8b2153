import { z } from "zod";

import { warmRequest } from "../api/package-routes.ts";
import { BODY_ERRORS, jsonContent, named, ok, type Operation, TOKEN_ERRORS } from "./operation.ts";
import { EXAMPLE_JTI, LOCK } from "./schemas.ts";

const TAG = "Packages";

const allow = z.array(
  z.object({
    package: z.string().meta({ description: "such as `zod`, `lodash@4` or `@acme/*`" }),
    setBy: z.enum(["setting", "administrator"]),
    by: z.string().nullable().meta({ description: "the `jti` of the token that added it" }),
    at: z.iso.datetime().nullable(),
  }),
);
const policy = { npm: z.enum(["none", "listed", "any"]), allow };
const list = named(
  "Packages",
  z.object({
    ...policy,
    packages: z.array(
      z.object({
        lock: z.string().meta({ description: "the key of the lock" }),
        versions: z.record(z.string(), z.string()).meta({ description: "of the packages that code names" }),
        count: z.int().meta({ description: "the packages with their dependencies" }),
        bytes: z.int(),
        builtAt: z.iso.datetime(),
        usedAt: z.iso.datetime().meta({ description: "the last use, to within an hour" }),
      }),
    ),
    bytes: z.int().meta({ description: "of all these sets" }),
    maxBytes: z.int(),
    builds: z
      .array(
        z.object({
          packages: z
            .record(z.string(), z.string())
            .meta({ description: "the range of each package that the code names" }),
          state: z.enum(["building", "waiting"]),
          requestedBy: z.string().meta({ description: "the `jti` of the token whose request ordered it" }),
          orderedAt: z.iso.datetime(),
          startedAt: z.iso.datetime().nullable().meta({ description: "null while it waits" }),
        }),
      )
      .meta({ description: "the builds of this node under way, the running one first" }),
  }),
);
const permitted = named("PermittedPackages", z.object(policy));
const built = named("BuiltPackages", z.object({ lock: LOCK, bytes: z.int() }));
const request = named("WarmRequest", warmRequest);
const removed = named("RemovedPackages", z.object({ lock: z.string(), removed: z.literal(true) }));
/** The answer while a build is under way. */
export const BUILDING: z.ZodType = named("Building", z.object({ build: z.object({ state: z.literal("building") }) }));

const EXAMPLE_KEY = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const EXAMPLE_POLICY = { npm: "listed", allow: [{ package: "zod", setBy: "setting", by: null, at: null }] };
const EXAMPLE_BUILT = {
  bytes: 512_000,
  lock: {
    key: EXAMPLE_KEY,
    ranges: { zod: "^4" },
    entries: ["zod"],
    roots: { zod: "zod@4.1.0" },
    packages: [{ name: "zod", version: "4.1.0", integrity: "sha512-x", dependencies: {} }],
    builder: "1",
    requestedBy: EXAMPLE_JTI,
    at: "2026-11-23T10:00:12.000Z",
  },
};
const BUILD_ERRORS = [
  "packages_forbidden",
  "packages_not_found",
  "packages_native",
  "packages_too_large",
  "packages_failed",
  "packages_building",
  "packages_unavailable",
  "quota_exceeded",
] as const;
const LIST_ERRORS = [...TOKEN_ERRORS, "request_invalid"] as const;

export const PACKAGE_OPERATIONS: readonly Operation[] = [
  {
    method: "get",
    path: "/api/packages",
    id: "listPackages",
    tag: TAG,
    summary: "Read which packages code may import, which sets are built, and which builds are under way",
    description: "An administrator sees all sets and builds, and another token those of its family.",
    token: "required",
    answers: [
      ok("the list of the operator, the sets that are built, and the builds under way", list, {
        ...EXAMPLE_POLICY,
        packages: [
          {
            lock: EXAMPLE_KEY,
            versions: { zod: "4.1.0" },
            count: 1,
            bytes: 512_000,
            builtAt: "2026-11-23T10:00:12.000Z",
            usedAt: "2026-11-23T10:00:12.000Z",
          },
        ],
        bytes: 512_000,
        maxBytes: 1_073_741_824,
        builds: [
          {
            packages: { lodash: "^4" },
            state: "building",
            requestedBy: EXAMPLE_JTI,
            orderedAt: "2026-11-23T10:00:12.000Z",
            startedAt: "2026-11-23T10:00:12.000Z",
          },
        ],
      }),
    ],
    errors: TOKEN_ERRORS,
  },
  {
    method: "post",
    path: "/api/packages/warm",
    id: "warmPackages",
    tag: TAG,
    summary: "Build packages before the first run that imports them",
    description:
      "The token family keeps the lock for a day, as for a run. It needs the verb run, counts against `--family-issues`, and is " +
      "refused to a token that is pinned to its code.",
    token: "required",
    body: { isRequired: true, content: jsonContent(request, { packages: { zod: "^4" } }) },
    answers: [
      ok("the packages are built", built, EXAMPLE_BUILT),
      { ...ok("the build goes on", BUILDING, { build: { state: "building" } }, 202), headers: ["Retry-After"] },
    ],
    errors: [...TOKEN_ERRORS, ...BODY_ERRORS, ...BUILD_ERRORS, "code_pinned"],
  },
  {
    method: "get",
    path: "/api/packages/locks/{key}",
    id: "getLock",
    tag: TAG,
    summary: "Read the lock of a set that is built",
    token: "required",
    answers: [ok("the lock", built, EXAMPLE_BUILT)],
    errors: [...TOKEN_ERRORS, "not_found"],
  },
  {
    method: "delete",
    path: "/api/packages/locks/{key}",
    id: "removePackages",
    tag: TAG,
    summary: "Remove a set that is built, as an administrator. A run that needs it builds it again",
    token: "required",
    answers: [ok("the set is removed", removed, { lock: EXAMPLE_KEY, removed: true })],
    errors: [...TOKEN_ERRORS, "not_found"],
  },
  {
    method: "put",
    path: "/api/packages/allow/{package}",
    id: "allowPackage",
    tag: TAG,
    summary: "Add a package to the list of the operator, as an administrator",
    token: "required",
    answers: [ok("the list", permitted, EXAMPLE_POLICY)],
    errors: LIST_ERRORS,
  },
  {
    method: "delete",
    path: "/api/packages/allow/{package}",
    id: "disallowPackage",
    tag: TAG,
    summary: "Remove a package from the list of the operator, as an administrator",
    token: "required",
    answers: [ok("the list", permitted, EXAMPLE_POLICY)],
    errors: [...LIST_ERRORS, "not_found"],
  },
];
