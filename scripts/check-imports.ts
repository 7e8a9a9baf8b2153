/**
 * Checks the direction of imports. A room may import only the rooms that are listed for it. A folder must not import the
 * folders that it is separated from. Files must not import each other in a circle. The story of a run imports few files.
 */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";

const LEAVES = [
  "byte-cache",
  "client-site",
  "config",
  "error-codes",
  "errors",
  "fair-queue",
  "finding",
  "kept-code",
  "labels",
  "members",
  "nearest",
  "next-turn",
  "package-names",
  "thread-cpu-time",
  "thread-programs",
  "units",
];
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  main: ["command-line"],
  "command-line": ["cli", "kept-code", "user-folder"],
  // What the build starts instead of the files of the source.
  built: ["command-line", "sandbox"],
  cli: [
    "client",
    "service",
    "stores",
    "doctor",
    "backup",
    "tokens",
    "tasks",
    "limits",
    "http",
    "data-folder",
    "data-lock",
    "data-parts",
    "heap-growth",
    "idle-memory",
    "young-generation",
    ...LEAVES,
  ],
  backup: [
    "data-folder",
    "data-lock",
    "data-parts",
    "limits",
    "packages",
    "policies",
    "records",
    "sandbox",
    "tasks",
    "tokens",
    ...LEAVES,
  ],
  doctor: ["stores", "data-folder", "data-parts", "containers", "limits", "sandbox", "redis", "egress", ...LEAVES],
  stores: ["limits", "packages", "policies", "tasks", "tokens", "redis", "telemetry", ...LEAVES],
  service: [
    "backup",
    "stores",
    "http",
    "tokens",
    "limits",
    "policies",
    "tasks",
    "source",
    "builder",
    "packages",
    "containers",
    "sandbox",
    "egress",
    "telemetry",
    "records",
    "nodes",
    "redis",
    "data-lock",
    "data-parts",
    ...LEAVES,
  ],
  http: [
    "tokens",
    "tasks",
    "packages",
    "limits",
    "policies",
    "source",
    "containers",
    "egress",
    "telemetry",
    "redaction",
    "records",
    "nodes",
    "wire",
    ...LEAVES,
  ],
  nodes: ["records", "tokens", "redis", "wire", ...LEAVES],
  tokens: ["database", "limits", "egress", "packages", "redis", ...LEAVES],
  policies: ["database", "limits", "redis", ...LEAVES],
  tasks: ["database", "packages", "tokens", "redis", "wire", ...LEAVES],
  limits: ["redis", ...LEAVES],
  source: ["egress", "packages", "wire", ...LEAVES],
  // Builds packages in guests that run no submitted code.
  builder: ["bundler", "packages", "containers", "sandbox", "egress", "telemetry", "wire", ...LEAVES],
  // The program inside a builder. It reads hostile packages, so it has nothing of the service.
  bundler: [],
  packages: ["database", "redis", "wire", ...LEAVES],
  containers: ["sandbox", "egress", "wire", ...LEAVES],
  sandbox: ["wire", ...LEAVES],
  egress: ["wire", "telemetry", ...LEAVES],
  telemetry: ["wire", ...LEAVES],
  records: ["database", "wire", ...LEAVES],
  redaction: ["errors"],
  redis: [...LEAVES],
  // The guest imports only `wire`, because submitted code can reach everything that the guest imports.
  guest: ["wire"],
  wire: [],
  database: ["lock-queue"],
  "lock-queue": ["next-turn"],
  "data-folder": [],
  "data-lock": ["data-folder"],
  "data-parts": ["tokens"],
  "heap-growth": [],
  "idle-memory": [],
  "young-generation": [],
  config: ["nearest", "package-names", "units", "user-folder"],
  "user-folder": [],
  "error-codes": ["client-error-codes", "server-error-codes"],
  "client-error-codes": [],
  "server-error-codes": [],
  errors: ["error-codes"],
  "byte-cache": [],
  "client-site": [],
  "fair-queue": [],
  finding: [],
  "kept-code": [],
  labels: [],
  members: ["errors", "nearest"],
  nearest: [],
  "next-turn": [],
  "package-names": ["wire"],
  "thread-cpu-time": [],
  "thread-programs": [],
  units: [],
};

/** The client is a package without dependencies, so it imports only its own files. */
const CLIENT = path.join("client", "src");

/** Folders of a room that must not import another folder of the same room. */
const APART: readonly (readonly [user: string, used: string])[] = [["src/http/api", "src/http/run"]];

/** The story of a run stays readable only as long as it has few parts: the most files of this project that it may import. */
const MOST_IMPORTS: Readonly<Record<string, number>> = { [path.join("src", "http", "run", "run.ts")]: 23 };

const files = globSync(["src/**/*.ts", "client/src/**/*.ts"]);
const importsOf = new Map(files.map((file) => [file, readImports(file)]));
const faults = [...importsOf].flatMap(([file, targets]) => [
  ...(isBelow(file, CLIENT) ? foreignToClient(file) : foreignRooms(file, targets)),
  ...APART.filter(([user]) => isBelow(file, user)).flatMap(([user, used]) =>
    targets
      .filter((target) => isBelow(target, used))
      .map((target) => `${file} imports ${target}: ${user} uses no ${used}`),
  ),
]);
for (const [file, most] of Object.entries(MOST_IMPORTS)) {
  const count = importsOf.get(file)?.length ?? 0;
  if (count === 0 || count > most) faults.push(`${file} imports ${count} files, and may import 1 to ${most}`);
}
for (const circle of circles()) faults.push(`a circle of imports: ${circle.join(" -> ")}`);
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;

function foreignRooms(file: string, targets: readonly string[]): string[] {
  const room = roomOf(file);
  const allowed = ROOMS[room];
  if (!allowed) return [`${file}: the room ${room} is not listed in this check`];
  return targets
    .map((target) => ({ target, other: roomOf(target) }))
    .filter(({ other }) => other !== room && !allowed.includes(other))
    .map(({ target }) => `${file} imports ${target}: ${room} may use ${allowed.join(", ") || "nothing"}`);
}

function foreignToClient(file: string): string[] {
  const matches = readFileSync(file, "utf8").matchAll(/\b(?:from|import)\s*\(?\s*"([^"]+)"/g);
  return [...matches]
    .map(([, target]) => target!)
    .filter((target) => !target.startsWith(".") || !isBelow(path.join(path.dirname(file), target), CLIENT))
    .map((target) => `${file} imports ${target}: the client imports only its own files`);
}

/** Returns each circle once, from its first file by name. Imports of types count, because a circle of types is hard to read, too. */
function circles(): string[][] {
  const found = new Map<string, string[]>();
  const done = new Set<string>();
  const walk = (file: string, trail: readonly string[]): void => {
    const at = trail.indexOf(file);
    if (at >= 0) {
      const circle = trail.slice(at);
      const first = circle.indexOf(circle.toSorted()[0]!);
      const turned = [...circle.slice(first), ...circle.slice(0, first)];
      found.set(turned.join(), [...turned, turned[0]!]);
      return;
    }
    if (done.has(file)) return;
    for (const target of importsOf.get(file) ?? []) walk(target, [...trail, file]);
    done.add(file);
  };
  for (const file of [...importsOf.keys()].toSorted()) walk(file, []);
  return [...found.values()];
}

function isBelow(file: string, folder: string): boolean {
  return file.startsWith(`${folder}${path.sep}`);
}

function roomOf(file: string): string {
  // The command line sends its requests with the client.
  if (isBelow(file, CLIENT)) return "client";
  const [, first, ...rest] = file.split(path.sep);
  return rest.length > 0 ? first! : path.basename(first!, ".ts");
}

/** Returns the relative imports of a file, static and dynamic, of values and of types. */
function readImports(file: string): string[] {
  const matches = readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+\.ts)"/g);
  return [...matches].map(([, target]) => path.join(path.dirname(file), target!));
}
