import { z } from "zod";

import { named, ok, type Operation, TOKEN_ERRORS } from "./operation.ts";

const nullable = z.string().nullable();
const setBy = z.enum(["default", "flag", "variable", "file"]);
const checks = z.array(
  z.object({
    layer: z.string(),
    state: z.enum(["held", "weak", "open"]),
    proof: z.string().meta({ description: "what the start observed" }),
    remedy: nullable.meta({ description: "what to install or set" }),
  }),
);
const system = named(
  "System",
  z.object({
    version: z.string(),
    startedAt: z.iso.datetime(),
    node: z
      .object({ name: z.string(), process: z.string() })
      .meta({ description: "the node that answers: its name in records, and the first part of the ids of its runs" }),
    isolation: z.object({
      level: z.string(),
      mechanisms: z.string(),
      resources: z.string().meta({ description: "how memory, threads and processor time are limited" }),
      insteadOf: nullable.meta({ description: "why no stronger level is in use" }),
    }),
    warnings: z.array(z.string()).meta({ description: "what to know or to repair, as sentences, the worst first" }),
    checks: checks.meta({
      description: "what `caisson doctor` reports, from the start of this node; Redis as it is now",
    }),
    nodes: z
      .array(
        z.object({
          ...{ name: z.string(), process: z.string(), url: nullable, state: z.enum(["self", "alive", "silent"]) },
          version: nullable.meta({ description: "null, as the further members, if the node did not answer" }),
          startedAt: z.iso.datetime().nullable(),
          isolation: nullable.meta({ description: "the isolation level" }),
          checks: checks.nullable(),
          differences: z
            .array(
              z.object({
                ...{ name: z.string(), flag: z.string(), value: nullable },
                here: nullable.meta({ description: "the value on the node that answers" }),
                setBy,
              }),
            )
            .nullable()
            .meta({ description: "the settings that have another value than on the node that answers" }),
        }),
      )
      .meta({ description: "this node, and the nodes on the same Redis in the last ten minutes" }),
    furtherNodes: z.int().meta({ description: "nodes beyond --nodes-asked, which are not listed" }),
    keys: z
      .array(
        z.object({
          kid: z.string(),
          state: z
            .enum(["coming", "signing", "retired"])
            .meta({ description: "`coming` keys sign later; `retired` keys only verify" }),
          retiredAt: z.iso.datetime().nullable(),
        }),
      )
      .meta({ description: "the keys that this node accepts, the newest first" }),
    capacity: z.record(z.string(), z.int()).meta({ description: "the most guests, connections and others at once" }),
    settings: z
      .array(
        z.object({
          name: z.string(),
          group: z.string(),
          flag: z.string(),
          variable: z.string(),
          value: nullable.meta({ description: "as the variable has it, without secrets; null if there is none" }),
          default: nullable,
          setBy,
          help: z.string(),
        }),
      )
      .meta({ description: "all settings of this node, in the order of the settings page" }),
  }),
);

const EXAMPLE_CHECKS = [{ layer: "files", state: "held", proof: "read a file of the host: ENOENT", remedy: null }];

export const SYSTEM_OPERATIONS: readonly Operation[] = [
  {
    method: "get",
    path: "/api/system",
    id: "getSystem",
    tag: "Service",
    summary: "Read checks, warnings, nodes, keys and settings of the service, as an administrator",
    token: "required",
    answers: [
      ok("the state of the node that answers", system, {
        version: "1.0.0",
        startedAt: "2026-11-23T10:00:00.000Z",
        node: { name: "a1", process: "e506c653c0d4" },
        isolation: {
          level: "namespaces",
          mechanisms: "bubblewrap, seccomp, Landlock",
          resources: "cgroup v2",
          insteadOf: null,
        },
        warnings: [],
        checks: EXAMPLE_CHECKS,
        nodes: [
          {
            ...{ name: "a1", process: "e506c653c0d4", url: null, state: "self", version: "1.0.0" },
            startedAt: "2026-11-23T10:00:00.000Z",
            isolation: "namespaces",
            checks: EXAMPLE_CHECKS,
            differences: [],
          },
        ],
        furtherNodes: 0,
        keys: [{ kid: "k1", state: "signing", retiredAt: null }],
        capacity: { containers: 100, connections: 4_000 },
        settings: [
          {
            name: "wallLimit",
            group: "Limits of one run",
            flag: "--wall-limit",
            variable: "CAISSON_WALL_LIMIT",
            value: "10s",
            default: "30s",
            setBy: "flag",
            help: "longest time of a run",
          },
        ],
      }),
    ],
    errors: TOKEN_ERRORS,
  },
];
