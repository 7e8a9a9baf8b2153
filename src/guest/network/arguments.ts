import type { LookupFunction, OnReadOpts } from "node:net";

const { isArray } = Array;
const toNumber = Number;

/** What `net.Socket.connect` understands. */
export interface ConnectOptions {
  host?: string;
  port?: number | string;
  path?: string;
  family?: number | string;
  hints?: number;
  lookup?: LookupFunction;
  localAddress?: string;
  localPort?: number;
  autoSelectFamily?: boolean;
  onread?: OnReadOpts;
}

export interface ConnectArguments {
  options: ConnectOptions;
  callback: (() => void) | null;
}

/** Reads `(options, callback)`, `(port, host, callback)`, `(path, callback)`, and what Node made of one of them already. */
export function connectArguments(given: readonly unknown[]): ConnectArguments {
  const args = isArray(given[0]) ? (given[0] as unknown[]) : given;
  const [first, second] = [args[0], args[1]];
  const last = args[args.length - 1];
  return {
    options: optionsOf(first, second),
    callback: typeof last === "function" ? (last as () => void) : null,
  };
}

function optionsOf(first: unknown, second: unknown): ConnectOptions {
  if (typeof first === "object" && first !== null) return first;
  if (typeof first === "string" && !(toNumber(first) >= 0)) return { path: first };
  const options: ConnectOptions = {};
  if (first !== undefined && typeof first !== "function") options.port = first as number;
  if (typeof second === "string") options.host = second;
  return options;
}
