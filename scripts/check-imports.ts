/** Holds the direction of imports: each room may use the rooms listed with it, and nothing goes round in a circle. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";

const LEAVES = ["config", "error-codes", "errors", "members", "next-turn", "units"];
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  main: ["cli"],
  cli: ["service", "stores", "doctor", "tokens", "limits", "http", "data-lock", ...LEAVES],
  doctor: ["stores", "containers", "limits", "sandbox", "redis", "egress", ...LEAVES],
  stores: ["limits", "policies", "tasks", "tokens", "redis", "telemetry", ...LEAVES],
  capacity: ["config"],
  service: [
    "capacity",
    "stores",
    "http",
    "tokens",
    "limits",
    "policies",
    "tasks",
    "source",
    "containers",
    "sandbox",
    "egress",
    "telemetry",
    "redis",
    "data-lock",
    ...LEAVES,
  ],
  http: [
    "tokens",
    "tasks",
    "limits",
    "policies",
    "source",
    "containers",
    "egress",
    "telemetry",
    "redaction",
    "wire",
    ...LEAVES,
  ],
  tokens: ["database", "limits", "egress", "redis", ...LEAVES],
  policies: ["database", "limits", "redis", ...LEAVES],
  tasks: ["database", "tokens", "redis", "wire", ...LEAVES],
  limits: ["redis", ...LEAVES],
  source: ["egress", "wire", ...LEAVES],
  containers: ["sandbox", "egress", "wire", ...LEAVES],
  sandbox: ["wire", ...LEAVES],
  egress: ["wire", "telemetry", ...LEAVES],
  telemetry: ["wire", ...LEAVES],
  redaction: ["errors"],
  redis: [...LEAVES],
  // The guest stands alone: what it imports is what submitted code can reach.
  guest: ["wire"],
  wire: [],
  database: [],
  "data-lock": [],
  config: ["units"],
  "error-codes": [],
  errors: ["error-codes"],
  members: ["errors"],
  "next-turn": [],
  units: [],
};

const faults = globSync("src/**/*.ts").flatMap((file) => {
  const room = roomOf(file);
  const allowed = ROOMS[room];
  if (!allowed) return [`${file}: there is no room ${room} in this check`];
  return importsOf(file)
    .map((target) => ({ target, other: roomOf(target) }))
    .filter(({ other }) => other !== room && !allowed.includes(other))
    .map(({ target }) => `${file} imports ${target}: ${room} may use ${allowed.join(", ") || "nothing"}`);
});
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;

function roomOf(file: string): string {
  const [, first, ...rest] = file.split(path.sep);
  return rest.length > 0 ? first! : path.basename(first!, ".ts");
}

/** Relative imports, static and dynamic, of values and of types. */
function importsOf(file: string): string[] {
  const matches = readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+\.ts)"/g);
  return [...matches].map(([, target]) => path.join(path.dirname(file), target!));
}
