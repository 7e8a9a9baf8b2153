import type dnsModule from "node:dns";
import { isIP } from "node:net";

import { knowLookup } from "./connect.ts";
import { errorOf } from "./errors.ts";
import { type Address, type Family, findAddresses } from "./lookups.ts";

const { assign, defineProperty, getOwnPropertyNames } = Object;
const { apply } = Reflect;
const NativePromise = Promise;
const later = process.nextTick.bind(process);
const PROMISIFY = Symbol.for("nodejs.util.promisify.custom");
/** What asks a name server for itself, which nothing in a guest can reach. */
const ASKS_A_SERVER = /^(?:resolve|reverse|lookupService)/;
const ANY_ADDRESS = "127.0.0.1";

type Dns = typeof dnsModule;
type Callback = (error: Error | null, result?: unknown, family?: number) => void;
interface LookupOptions {
  family?: number | string;
  all?: boolean;
  order?: string;
  verbatim?: boolean;
}

/** Has lookups answered by the service, and everything else of `dns` say that it is not served. */
export function patchDns(dns: Dns): void {
  const node = { lookup: dns.lookup as unknown as (...args: unknown[]) => object, inPromises: dns.promises.lookup };

  function lookup(host: string, given: unknown, last?: Callback): object {
    const isLiteral = !host || isIP(host) !== 0;
    const args = last === undefined && typeof given === "function" ? [given] : [given, last];
    // Node's own checks of the arguments: of an address it asks nobody.
    if (isLiteral) return apply(node.lookup, dns, [host, ...args]);
    const callback = args[args.length - 1] as Callback;
    node.lookup(typeof host === "string" ? ANY_ADDRESS : host, ...args.slice(0, -1), wrap(callback));
    const options = optionsOf(args.length > 1 ? given : undefined);
    find(dns, host, options, (error, found) => {
      if (error) return callback(error);
      if (options.all) return callback(null, found);
      return callback(null, found[0]!.address, found[0]!.family);
    });
    return {};
  }

  function lookupInPromises(host: string, given?: unknown): Promise<unknown> {
    const checked = node.inPromises(
      host && typeof host === "string" && isIP(host) === 0 ? ANY_ADDRESS : host,
      given as object,
    );
    if (!host || isIP(host) !== 0) return checked;
    const options = optionsOf(given);
    return new NativePromise((resolve, reject) => {
      find(dns, host, options, (error, found) => {
        if (error) reject(error);
        else resolve(options.all ? found : found[0]);
      });
    });
  }

  knowLookup(lookup);
  defineProperty(lookup, PROMISIFY, { value: lookupInPromises });
  refuseServers(dns);
  refuseServers(dns.Resolver.prototype);
  refuseServersInPromises(dns.promises);
  refuseServersInPromises(dns.promises.Resolver.prototype);
  assign(dns, { lookup });
  assign(dns.promises, { lookup: lookupInPromises });
}

/** Node checks that it is a function, and its answer is of no use. */
function wrap(callback: unknown): unknown {
  return typeof callback === "function" ? () => {} : callback;
}

function optionsOf(given: unknown): LookupOptions {
  if (typeof given === "number") return { family: given };
  return typeof given === "object" && given !== null ? given : {};
}

function find(
  dns: Dns,
  host: string,
  options: LookupOptions,
  done: (error: Error | null, found: Address[]) => void,
): void {
  const { family } = options;
  const wanted: Family = family === 4 || family === "IPv4" ? 4 : family === 6 || family === "IPv6" ? 6 : 0;
  const order = options.order ?? (options.verbatim === undefined ? dns.getDefaultResultOrder() : "");
  const first = options.verbatim === false || order === "ipv4first" ? 4 : order === "ipv6first" ? 6 : 0;
  findAddresses(host, wanted, (error, found) => {
    if (first === 0) return done(error, found);
    return done(error, [
      ...found.filter((each) => each.family === first),
      ...found.filter((each) => each.family !== first),
    ]);
  });
}

function refuseServers(owner: object): void {
  for (const name of namesIn(owner)) {
    put(owner, name, (...args: unknown[]): object => {
      const callback = args[args.length - 1];
      if (typeof callback !== "function") throw refusal(name);
      later(callback, refusal(name));
      return {};
    });
  }
}

function refuseServersInPromises(owner: object): void {
  for (const name of namesIn(owner)) put(owner, name, async () => Promise.reject(refusal(name)));
}

function namesIn(owner: object): string[] {
  return getOwnPropertyNames(owner).filter((name) => ASKS_A_SERVER.test(name));
}

function put(owner: object, name: string, value: unknown): void {
  defineProperty(owner, name, { value, writable: true, enumerable: true, configurable: true });
}

function refusal(name: string): Error {
  const message = `dns.${name} is not served in a task: dns.lookup is, and so is DNS over HTTPS by fetch`;
  return errorOf({ message, code: "ENOTIMP", syscall: name });
}
