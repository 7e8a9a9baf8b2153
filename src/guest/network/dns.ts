import type dnsModule from "node:dns";
import { isIP } from "node:net";

import { registerServiceLookup } from "./connect.ts";
import { type Address, type Family, findAddresses } from "./lookups.ts";
import { errorOf } from "./network-errors.ts";

const { assign, defineProperty, getOwnPropertyNames } = Object;
const { apply } = Reflect;
const NativePromise = Promise;
const later = process.nextTick.bind(process);
const PROMISIFY = Symbol.for("nodejs.util.promisify.custom");
/** Matches the functions that query a name server themselves. A guest can reach no name server. */
const NAME_SERVER_QUERY = /^(?:resolve|reverse|lookupService)/;
const ANY_ADDRESS = "127.0.0.1";

type Dns = typeof dnsModule;
type Callback = (error: Error | null, result?: unknown, family?: number) => void;
interface LookupOptions {
  family?: number | string;
  all?: boolean;
  order?: string;
  verbatim?: boolean;
}

/** Makes the service answer lookups, and makes all other queries of `dns` fail. */
export function patchDns(dns: Dns): void {
  const node = { lookup: dns.lookup as unknown as (...args: unknown[]) => object, inPromises: dns.promises.lookup };

  function lookup(host: string, optionsOrCallback: unknown, last?: Callback): object {
    const isLiteral = !host || isIP(host) !== 0;
    const isShort = last === undefined && typeof optionsOrCallback === "function";
    const args = isShort ? [optionsOrCallback] : [optionsOrCallback, last];
    // Node's lookup checks the arguments. For an address it sends no query.
    if (isLiteral) return apply(node.lookup, dns, [host, ...args]);
    const callback = args[args.length - 1] as Callback;
    node.lookup(typeof host === "string" ? ANY_ADDRESS : host, ...args.slice(0, -1), ignoringResult(callback));
    const options = optionsOf(args.length > 1 ? optionsOrCallback : undefined);
    find(dns, host, options, (error, addresses) => {
      if (error) return callback(error);
      if (options.all) return callback(null, addresses);
      return callback(null, addresses[0]!.address, addresses[0]!.family);
    });
    return {};
  }

  function lookupInPromises(host: string, optionsOrFamily?: unknown): Promise<unknown> {
    const checked = node.inPromises(
      host && typeof host === "string" && isIP(host) === 0 ? ANY_ADDRESS : host,
      optionsOrFamily as object,
    );
    if (!host || isIP(host) !== 0) return checked;
    const options = optionsOf(optionsOrFamily);
    return new NativePromise((resolve, reject) => {
      find(dns, host, options, (error, addresses) => {
        if (error) reject(error);
        else resolve(options.all ? addresses : addresses[0]);
      });
    });
  }

  registerServiceLookup(lookup);
  defineProperty(lookup, PROMISIFY, { value: lookupInPromises });
  refuseQueries(dns);
  refuseQueries(dns.Resolver.prototype);
  refuseQueriesInPromises(dns.promises);
  refuseQueriesInPromises(dns.promises.Resolver.prototype);
  assign(dns, { lookup });
  assign(dns.promises, { lookup: lookupInPromises });
}

/** Returns a callback for Node's lookup, which only checks the arguments. A value that is not a function is returned as it is. */
function ignoringResult(callback: unknown): unknown {
  return typeof callback === "function" ? () => {} : callback;
}

function optionsOf(optionsOrFamily: unknown): LookupOptions {
  if (typeof optionsOrFamily === "number") return { family: optionsOrFamily };
  return typeof optionsOrFamily === "object" && optionsOrFamily !== null ? optionsOrFamily : {};
}

function find(
  dns: Dns,
  host: string,
  options: LookupOptions,
  done: (error: Error | null, addresses: Address[]) => void,
): void {
  const { family } = options;
  const wanted: Family = family === 4 || family === "IPv4" ? 4 : family === 6 || family === "IPv6" ? 6 : 0;
  const order = options.order ?? (options.verbatim === undefined ? dns.getDefaultResultOrder() : "");
  const first = options.verbatim === false || order === "ipv4first" ? 4 : order === "ipv6first" ? 6 : 0;
  findAddresses(host, wanted, (error, addresses) => {
    if (first === 0) return done(error, addresses);
    return done(error, [
      ...addresses.filter((each) => each.family === first),
      ...addresses.filter((each) => each.family !== first),
    ]);
  });
}

function refuseQueries(owner: object): void {
  for (const name of queriesIn(owner)) {
    put(owner, name, (...args: unknown[]): object => {
      const callback = args[args.length - 1];
      if (typeof callback !== "function") throw refusal(name);
      later(callback, refusal(name));
      return {};
    });
  }
}

function refuseQueriesInPromises(owner: object): void {
  for (const name of queriesIn(owner)) put(owner, name, async () => Promise.reject(refusal(name)));
}

function queriesIn(owner: object): string[] {
  return getOwnPropertyNames(owner).filter((name) => NAME_SERVER_QUERY.test(name));
}

function put(owner: object, name: string, value: unknown): void {
  defineProperty(owner, name, { value, writable: true, enumerable: true, configurable: true });
}

function refusal(name: string): Error {
  const message = `dns.${name} is not available in a task: use dns.lookup, or DNS over HTTPS with fetch`;
  return errorOf({ message, code: "ENOTIMP", syscall: name });
}
