import type { LookupFunction, OnReadOpts } from "node:net";

const { isArray } = Array;
const toNumber = Number;

/** The options of `net.Socket.connect`. */
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

/** Reads `(options, callback)`, `(port, host, callback)`, `(path, callback)`, or Node's normalized array of one of these. */
export function connectArguments(received: readonly unknown[]): ConnectArguments {
  const args = isArray(received[0]) ? (received[0] as unknown[]) : received;
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
