import { builtinModules, createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** Modules of Node whose members may lead to native code or to another program. The test checks each of their members. */
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

/** Returns the names that a task can use in this Node and that may lead to native code, by place. */
export function surfaceOfNode(): Record<string, string> {
  const members = WATCHED.map((name): [string, string] => {
    const module = require(`node:${name}`) as object;
    return [`node:${name}`, listed(membersOf(module))];
  });
  return {
    modules: listed(builtinModules),
    "flags of a thread": listed([...process.allowedNodeEnvironmentFlags].filter(mayRunCode)),
    ...Object.fromEntries(members),
  };
}

/** Returns whether the name of a flag suggests that it loads, executes or trusts something. Node has about 280 flags. */
function mayRunCode(flag: string): boolean {
  return /addon|engine|openssl|provider|ffi|native|extension|snapshot|sea|wasm|wasi|import|loader|require|icu|jit|expose/.test(
    flag,
  );
}

/** Returns the names of all exports, and of the members of exported classes. */
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
