import { lookup, Resolver } from "node:dns/promises";

/** The caller that needs the addresses of a name. */
export interface Asker {
  readonly family: string;
  /** Aborts when the caller no longer waits. */
  readonly signal?: AbortSignal | undefined;
}

/** Returns all addresses of a name, or throws the error of Node's `getaddrinfo`. */
export type NameResolver = (name: string, asker?: Asker) => Promise<readonly { address: string }[]>;

/**
 * Resolves names that an operator trusts with the resolver of the system: hosts file, search domains and its other
 * sources.
 *
 * It must not resolve names that a task chose, and `sharedNames` must limit its lookups. libuv runs two of these lookups at a time in the whole process, so two
 * names whose servers never answer would delay the lookups of all tasks.
 */
export const systemNames: NameResolver = (name) => lookup(name, { all: true });

/**
 * Resolves names with DNS only and without a thread, so that slow names do not delay others. IPv4 addresses come first.
 *
 * @param servers the name servers as `host:port`; the default is the configuration of the machine
 * @param system resolves the names if the machine has no name server, but may have another source
 */
export function dnsNames(servers?: readonly string[], system: NameResolver = systemNames): NameResolver {
  const resolver = resolverOf(servers);
  return async (name) => {
    // RFC 6761: these names have a fixed answer, and must not be sent to a server.
    if (/(?:^|\.)localhost$/.test(name)) return [{ address: "127.0.0.1" }, { address: "::1" }];
    if (/(?:^|\.)invalid$/.test(name)) throw notFound(name);
    const { dns, hasServer } = resolver();
    const answers = await Promise.allSettled([dns.resolve4(name), dns.resolve6(name)]);
    const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    if (addresses.length > 0) return addresses.map((address) => ({ address }));
    const codes = answers.map((answer) => (answer.status === "rejected" ? codeOf(answer.reason) : "ENODATA"));
    // This code alone does not show that there is no name server: a truncated answer has it too if the server refuses TCP, and the
    // server of a task's name can truncate its answers. Tasks could then pass slow names to the resolver of the system.
    if (codes.includes("ECONNREFUSED") && !(await hasServer())) return system(name);
    throw codes.every((code) => NO_SUCH_NAME.has(code)) ? notFound(name) : unanswered(name);
  };
}

/** Creates the error of a name that does not exist, as Node's `lookup` does. */
export function notFound(name: string): NodeJS.ErrnoException {
  return lookupError("ENOTFOUND", EAI_NONAME, name);
}

/** Creates the error of a name whose servers do not answer. */
export function unanswered(name: string): NodeJS.ErrnoException {
  return lookupError("EAI_AGAIN", EAI_AGAIN, name);
}

const TIMEOUT_MS = 2_000;
const TRIES = 3;
/**
 * The time after which the list of name servers is read again, because the machine may have moved to another network.
 */
const REFRESH_MS = 30_000;
const EAI_NONAME = -3_008;
const EAI_AGAIN = -3_001;
const NO_SUCH_NAME: ReadonlySet<string> = new Set(["ENOTFOUND", "ENODATA", "EBADNAME", "EBADQUERY", "EFORMERR"]);

/** The only server that c-ares uses if none is configured. */
const DEFAULT_SERVER = "127.0.0.1";
/** A name that has no address anywhere (RFC 6761), so that no task determines its answer. */
const PROBED_NAME = "invalid";

interface Dns {
  readonly dns: Resolver;
  /** Returns whether the machine has a name server, whatever the answers for other names were. */
  readonly hasServer: () => Promise<boolean>;
}

function resolverOf(servers: readonly string[] | undefined): () => Dns {
  let current: Dns | null = null;
  let untilMs = 0;
  return () => {
    const nowMs = performance.now();
    if (current !== null && nowMs < untilMs) return current;
    const dns = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
    if (servers) dns.setServers(servers);
    let known: Promise<boolean> | null = null;
    current = { dns, hasServer: () => (known ??= findServer(dns)) };
    untilMs = nowMs + REFRESH_MS;
    return current;
  };
}

async function findServer(dns: Resolver): Promise<boolean> {
  if (dns.getServers().some((server) => server !== DEFAULT_SERVER)) return true;
  try {
    await dns.resolve4(PROBED_NAME);
    return true;
  } catch (error) {
    return codeOf(error) !== "ECONNREFUSED";
  }
}

function lookupError(code: string, errno: number, hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), { code, errno, syscall: "getaddrinfo", hostname });
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
