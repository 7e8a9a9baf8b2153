import { lookup, Resolver } from "node:dns/promises";

/** Gives all addresses of a name, or throws what `getaddrinfo` of Node would. */
export type NameResolver = (name: string) => Promise<readonly { address: string }[]>;

/**
 * Names that an operator vouches for, by the system's own means: the hosts file, search domains and what else there is.
 *
 * Not for names that a task chose: libuv lets two lookups of this kind wait at a time in the whole process, so two names
 * whose servers never answer would hold up everybody's.
 */
export const systemNames: NameResolver = (name) => lookup(name, { all: true });

/**
 * Names of the DNS alone, asked for without a thread, so that slow ones hold up nobody. Addresses of IPv4 come first.
 *
 * @param servers as `host:port`; without them those that the machine is set up with.
 */
export function dnsNames(servers?: readonly string[]): NameResolver {
  const resolver = resolverOf(servers);
  return async (name) => {
    // RFC 6761: they have one answer everywhere, and a server is not to be asked.
    if (/(?:^|\.)localhost$/.test(name)) return [{ address: "127.0.0.1" }, { address: "::1" }];
    if (/(?:^|\.)invalid$/.test(name)) throw notFound(name);
    const dns = resolver();
    const answers = await Promise.allSettled([dns.resolve4(name), dns.resolve6(name)]);
    const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    if (addresses.length > 0) return addresses.map((address) => ({ address }));
    const codes = answers.map((answer) => (answer.status === "rejected" ? codeOf(answer.reason) : "ENODATA"));
    // No server where c-ares looks for one; the system may know another way. A task cannot bring this about.
    if (codes.includes("ECONNREFUSED")) return systemNames(name);
    throw codes.every((code) => NO_SUCH_NAME.has(code)) ? notFound(name) : unanswered(name);
  };
}

/** The error of a name that is not there, as Node's own `lookup` makes it. */
export function notFound(name: string): NodeJS.ErrnoException {
  return lookupError("ENOTFOUND", EAI_NONAME, name);
}

/** The error of a name whose servers do not answer. */
export function unanswered(name: string): NodeJS.ErrnoException {
  return lookupError("EAI_AGAIN", EAI_AGAIN, name);
}

const TIMEOUT_MS = 2_000;
const TRIES = 3;
/** The machine may have moved to another network: its list of servers is read again. */
const KEEP_MS = 30_000;
const EAI_NONAME = -3_008;
const EAI_AGAIN = -3_001;
const NO_SUCH_NAME: ReadonlySet<string> = new Set(["ENOTFOUND", "ENODATA", "EBADNAME", "EBADQUERY", "EFORMERR"]);

function resolverOf(servers: readonly string[] | undefined): () => Resolver {
  let kept: Resolver | null = null;
  let untilMs = 0;
  return () => {
    const nowMs = performance.now();
    if (kept !== null && nowMs < untilMs) return kept;
    kept = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
    if (servers) kept.setServers(servers);
    untilMs = nowMs + KEEP_MS;
    return kept;
  };
}

function lookupError(code: string, errno: number, hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), { code, errno, syscall: "getaddrinfo", hostname });
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
