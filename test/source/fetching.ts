import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";

import { LocalPorts } from "../../src/egress/local-ports.ts";
import { type EgressPolicy, egressPolicy } from "../../src/egress/policy.ts";
import type { ProblemCode } from "../../src/error-codes.ts";
import { Problem } from "../../src/errors.ts";
import { type FetchedSource, type FetchLimits, Sources } from "../../src/source/fetch.ts";
import type { ReplyCaching } from "../../src/source/replies.ts";
import { SELF_SIGNED } from "./self-signed.ts";

/** Long time limits, so that no test depends on the speed of the machine. */
export const LIMITS: FetchLimits = {
  connectMs: 10_000,
  totalMs: 20_000,
  maxBytes: 10_000,
  maxRedirects: 3,
  urlMaxLength: 2_048,
  ports: new LocalPorts(),
};

export const CACHING: ReplyCaching = { maxFreshMs: 60_000, maxBytes: 2 ** 20, maxEntries: 100 };
export const FREE = { net: null, sha256: null };

/** Fetches with an empty cache. */
export function fetchSource(
  url: string,
  policy: EgressPolicy,
  limits: FetchLimits,
  signal?: AbortSignal,
): Promise<FetchedSource> {
  return new Sources(policy, limits, CACHING).fetch(url, FREE, signal);
}

/** Returns a policy under which all names of these tests resolve to this machine, and only these ports are allowed. */
export function allowing(...ports: number[]): EgressPolicy {
  const hosts = ["127.0.0.1", "code.test", "other.test"];
  return egressPolicy({
    mode: "public",
    allow: ports.flatMap((port) => hosts.map((host) => ({ host, port }))),
    resolver: async () => [{ address: "127.0.0.1" }],
  });
}

/** Fetches from a test server. */
export async function fetchFrom(
  port: number,
  path: string = "/",
  limits: Partial<FetchLimits> = {},
): Promise<FetchedSource> {
  return fetchSource(`http://127.0.0.1:${port}${path}`, allowing(port), { ...LIMITS, ...limits });
}

/** Returns the problem with which a fetch fails. */
export async function problemOf(work: Promise<unknown>): Promise<Problem> {
  const outcome = await work.then(
    () => null,
    (error: unknown) => error,
  );
  assert.ok(outcome instanceof Problem, `not a problem: ${String(outcome)}`);
  return outcome;
}

export async function assertProblem(work: Promise<unknown>, code: ProblemCode, detail: RegExp): Promise<void> {
  const problem = await problemOf(work);
  assert.equal(problem.code, code, problem.message);
  assert.match(problem.message, detail);
}

/** Makes this process trust only the certificate of the test servers until the test ends. */
export function trustTestCertificate(context: TestContext): void {
  const before = getCACertificates("default");
  setDefaultCACertificates([SELF_SIGNED.cert]);
  context.after(() => setDefaultCACertificates(before));
}
