import { isIP } from "node:net";
import path from "node:path";

import { BAD_PERMIT, policyMeant, readPermit } from "../package-names.ts";
import { formatSize, parseDuration, parseSize } from "../units.ts";

/** The maximum number of runs by window. An absent window has no limit. */
export type WindowLimits = Readonly<Record<string, number>>;

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export function text(value: string): string {
  if (value === "") throw new TypeError("it is empty");
  return value;
}

/** Makes a path absolute, because the service may change its working directory. */
export function file(input: string): string {
  return path.resolve(text(input));
}

export function boolean(input: string): boolean {
  return choice("true", "false")(input) === "true";
}

export function choice<const T extends string>(...choices: T[]): (input: string) => T {
  return (input) => {
    const found = choices.find((each) => each === input);
    if (found === undefined) throw new TypeError(`${JSON.stringify(input)} is not one of ${choices.join(", ")}`);
    return found;
  };
}

export function decimal(least: number, most: number): (input: string) => number {
  return (input) => {
    const value = /^\d+(\.\d+)?$/.test(input) ? Number(input) : Number.NaN;
    if (!(value >= least && value <= most)) {
      throw new TypeError(`${JSON.stringify(input)} is not a number from ${least} to ${most}`);
    }
    return value;
  };
}

export function integer(least: number, most: number): (input: string) => number {
  return (input) => {
    if (!/^\d+$/.test(input)) {
      throw new TypeError(`${JSON.stringify(input)} is not a whole number from ${least} to ${most}`);
    }
    return decimal(least, most)(input);
  };
}

export function duration(leastMs: number): (input: string) => number {
  return (input) => {
    const value = parseDuration(input);
    // Node's timers have 31 bits; a longer limit would fire at once.
    if (value < leastMs || value > 2 ** 31 - 1) throw new TypeError(`${input} is not between ${leastMs}ms and 24d`);
    return value;
  };
}

export function size(leastBytes: number, mostBytes: number = Infinity): (input: string) => number {
  return (input) => {
    const value = parseSize(input);
    if (value < leastBytes) throw new TypeError(`${input} is less than the minimum of ${formatSize(leastBytes)}`);
    if (value > mostBytes) throw new TypeError(`${input} is more than the maximum of ${formatSize(mostBytes)}`);
    return value;
  };
}

/** Parses ranges of addresses in CIDR notation. */
export function cidrs(texts: readonly string[]): string[] {
  return texts.flatMap((input) => input.split(",")).map((input) => cidr(input.trim()));
}

function cidr(input: string): string {
  const [address = "", prefix = "", ...rest] = input.split("/");
  // An address with a zone is valid on one link only, and is in no range.
  const longest = address.includes("%") ? -1 : { 0: -1, 4: 32, 6: 128 }[isIP(address)]!;
  if (rest.length > 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > longest) {
    throw new TypeError(`${JSON.stringify(input)} is not a CIDR range such as 10.0.0.0/8`);
  }
  return input;
}

/** Parses a realm. It is part of each key in Redis, where braces would select the node. */
export function realm(input: string): string {
  return plainName(input);
}

/** Parses the name of a node, which is in every record of its runs. */
export function nodeName(input: string): string {
  return plainName(input);
}

const MAX_CONTAINER_NAMES = 50;

/** Parses names of containers. The service checks the names of requests in the same way. */
export function containerNames(texts: readonly string[]): string[] {
  const names = [...new Set(texts.flatMap((input) => input.split(",")).map((input) => input.trim()))];
  const wrong = names.find((name) => !/^[A-Za-z0-9_][\w.@-]{0,127}$/.test(name));
  if (wrong !== undefined) throw new TypeError(`${JSON.stringify(wrong)} is not the name of a container`);
  if (names.length > MAX_CONTAINER_NAMES) {
    throw new TypeError(`${names.length} names are more than the maximum of ${MAX_CONTAINER_NAMES}`);
  }
  return names;
}

function plainName(input: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(input)) return input;
  throw new TypeError(
    `${JSON.stringify(input)} is not 1 to 64 letters, digits and _.- characters that begin with a letter or digit`,
  );
}

/** Parses an http or https URL that has only a host and a port. @returns it without a slash at the end */
export function origin(input: string): string {
  const url = URL.parse(input);
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  if (url && isHttp && url.href === `${url.origin}/`) return url.origin;
  throw new TypeError("it is not http://host:port or https://host:port without anything after it");
}

/** Parses origins of web pages. */
export function origins(texts: readonly string[]): string[] {
  return texts.flatMap((input) => input.split(",")).map((input) => origin(input.trim()));
}

/** Parses an http or https URL without credentials, query and fragment. @returns it without a slash at the end */
export function webUrl(input: string): string {
  const url = URL.parse(input);
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  const isPlain = url?.username === "" && url.password === "" && url.search === "" && url.hash === "";
  if (url && isHttp && isPlain) return url.href.replace(/\/+$/, "");
  throw new TypeError("it is not an http or https URL, or it has a user, a query or a fragment");
}

/** A scope of packages, such as `@acme`, and a value of it. */
export interface OfScope {
  readonly scope: string;
  readonly value: string;
}

/** Parses scopes with their registries, such as `@acme=https://npm.acme.example`. */
export function scopeUrls(texts: readonly string[]): OfScope[] {
  return ofScopes(texts, "@acme=https://npm.acme.example", webUrl);
}

/** Parses scopes with files, such as `@acme=/run/secrets/acme`. */
export function scopeFiles(texts: readonly string[]): OfScope[] {
  return ofScopes(texts, "@acme=/run/secrets/acme", file);
}

function ofScopes(texts: readonly string[], example: string, read: (text: string) => string): OfScope[] {
  const all = texts.map((input): OfScope => {
    const [, scope, value] = /^(@[a-z0-9~][a-z0-9._~-]*)=(.+)$/i.exec(input.trim()) ?? [];
    if (scope === undefined || value === undefined)
      throw new TypeError(`${JSON.stringify(input)} is not such as ${example}`);
    return { scope: scope.toLowerCase(), value: read(value) };
  });
  const twice = all.find(({ scope }, index) => all.findIndex((other) => other.scope === scope) < index);
  if (twice) throw new TypeError(`the scope ${twice.scope} is set twice`);
  return all;
}

const MAX_PERMITS = 1_000;

/** Parses a list of packages: `zod`, `lodash@4` and `@acme/*`. */
export function permits(texts: readonly string[]): string[] {
  const list = [...new Set(texts.flatMap((input) => input.split(",")).map((input) => input.trim()))];
  const policy = list.find((each) => policyMeant(each) !== null);
  if (policy !== undefined) {
    const packageText = policy === "*" ? "" : ` ${policy}@* is the package of this name`;
    throw new TypeError(
      `${JSON.stringify(policy)} is no package: did you mean --npm ${policyMeant(policy)}?${packageText}`,
    );
  }
  const wrong = list.find((each) => readPermit(each) === null);
  if (wrong !== undefined) {
    const several = /\S\s+\S/.test(wrong) ? "; write a comma between two packages" : "";
    throw new TypeError(`${JSON.stringify(wrong)} is no package: it ${BAD_PERMIT}${several}`);
  }
  if (list.length > MAX_PERMITS)
    throw new TypeError(`${list.length} packages are more than the maximum of ${MAX_PERMITS}`);
  return list;
}

/** Parses a colour in the form `#rrggbb`. */
export function colour(input: string): string {
  if (/^#[\da-f]{6}$/i.test(input)) return input.toLowerCase();
  throw new TypeError(`${JSON.stringify(input)} is not a colour such as #7a3cff`);
}

export function hostPorts(texts: readonly string[]): HostPort[] {
  return texts.map((input) => {
    const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s/]+)):(\d+)$/.exec(input.trim());
    if (!match) throw new TypeError(`${JSON.stringify(input)} is not host:port${hostPortHint(input.trim())}`);
    return { host: (match[1] ?? match[2])!, port: integer(1, 65_535)(match[3]!) };
  });
}

/** Returns what to write instead of a URL, or of a host without a port. */
function hostPortHint(input: string): string {
  const url = /^(https?):\/\/([^/?#]+)/i.exec(input);
  if (url) {
    const port = url[1]!.toLowerCase() === "https" ? 443 : 80;
    return `; write ${/:\d+$/.test(url[2]!) ? url[2] : `${url[2]}:${port}`}`;
  }
  if (input.startsWith("*")) return "; it takes no star: --egress public allows all public addresses";
  return /^[a-z0-9.-]+$/i.test(input) ? `; write ${input}:443 for HTTPS` : "";
}

export function ports(texts: readonly string[]): number[] {
  return texts.flatMap((input) => input.split(",")).map((input) => integer(1, 65_535)(input.trim()));
}

/** The largest limit, as in requests. */
const MAX_LIMIT = 1_000_000_000;

export function limits(texts: readonly string[]): WindowLimits {
  const windows = choice("second", "minute", "hour", "day", "week", "month");
  return Object.fromEntries(
    texts.map((input) => {
      const [window, runs, ...rest] = input.trim().split("=");
      if (runs === undefined || rest.length > 0) {
        const several = /^\s*\w+=\d+(?:[,;\s]+\w+=\d+)+\s*$/.test(input) ? "; give the flag once for each window" : "";
        const [, name, number] = /^\s*(\w+)\s*[:\s]\s*(\d+)\s*$/.exec(input) ?? [];
        const pair = name === undefined ? "" : `; did you mean ${name}=${number}?`;
        throw new TypeError(
          `${JSON.stringify(input)} is not window=runs, such as "minute=60"${several}${pair}; a file has a list: ["minute=60"]`,
        );
      }
      return [windows(window!), integer(1, MAX_LIMIT)(runs)];
    }),
  );
}
