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

/** Names of the public DNS, asked for without a thread, so that slow ones hold up nobody. Addresses of IPv4 come first. */
export async function publicNames(name: string): Promise<readonly { address: string }[]> {
  // RFC 6761: they have one answer everywhere, and a server is not to be asked.
  if (/(?:^|\.)localhost$/.test(name)) return [{ address: "127.0.0.1" }, { address: "::1" }];
  if (/(?:^|\.)invalid$/.test(name)) throw notFound(name);
  const dns = resolver();
  const [four, six] = await Promise.allSettled([dns.resolve4(name), dns.resolve6(name)]);
  const addresses = [four, six].flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (addresses.length > 0) return addresses.map((address) => ({ address }));
  const codes = [four, six].map((answer) => (answer.status === "rejected" ? codeOf(answer.reason) : "ENODATA"));
  // No server where c-ares looks for one; the system may know another way. A task cannot bring this about.
  if (codes.includes("ECONNREFUSED")) return systemNames(name);
  throw codes.every((code) => NO_SUCH_NAME.has(code)) ? notFound(name) : unanswered(name);
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

let kept: { resolver: Resolver; untilMs: number } | null = null;

function resolver(): Resolver {
  const nowMs = performance.now();
  if (kept === null || nowMs > kept.untilMs) {
    kept = { resolver: new Resolver({ timeout: TIMEOUT_MS, tries: TRIES }), untilMs: nowMs + KEEP_MS };
  }
  return kept.resolver;
}

function lookupError(code: string, errno: number, hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), { code, errno, syscall: "getaddrinfo", hostname });
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
