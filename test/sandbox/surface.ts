import { builtinModules, createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** Modules of Node whose members may lead to native code, or to another program: each is looked at member by member. */
const WATCHED = [
  "child_process",
  "crypto",
  "inspector",
  "module",
  "process",
  "sea",
  "sqlite",
  "v8",
  "vm",
  "wasi",
  "worker_threads",
];

/** All that a task can call of this Node that was ever a way to native code, as far as names tell, by place. */
export function surfaceOfNode(): Record<string, string> {
  const members = WATCHED.map((name): [string, string] => {
    const module = require(`node:${name}`) as object;
    return [`node:${name}`, listed(membersOf(module))];
  });
  return {
    modules: listed(builtinModules),
    "switches of a thread": listed([...process.allowedNodeEnvironmentFlags].filter(leadsOut)),
    ...Object.fromEntries(members),
  };
}

/** Of some 280 switches those whose names say that they load, execute or trust something. */
function leadsOut(flag: string): boolean {
  return /addon|engine|openssl|provider|ffi|native|extension|snapshot|sea|wasm|wasi|import|loader|require|icu|jit|expose/.test(
    flag,
  );
}

/** Names of what is exported, and of the members of each class among it. */
function membersOf(module: object): string[] {
  return Object.entries(Object.getOwnPropertyDescriptors(module)).flatMap(([name, { value }]) => {
    const prototype: unknown = typeof value === "function" ? (value as { prototype?: unknown }).prototype : null;
    if (typeof prototype !== "object" || prototype === null) return [name];
    const own = Object.getOwnPropertyNames(prototype).filter((member) => member !== "constructor");
    return [name, ...own.map((member) => `${name}.${member}`)];
  });
}

function listed(names: readonly string[]): string {
  return [...new Set(names)].toSorted().join(" ");
}
