import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

import { CompactSign } from "jose";

import { Problem } from "../../src/errors.ts";
import type { SinceBoot } from "../../src/limits/steady-clock.ts";
import { Caller } from "../../src/tokens/caller.ts";
import type { Claims } from "../../src/tokens/claims.ts";
import type { KeyRing } from "../../src/tokens/keys/key-ring.ts";
import { openTokens, type Tokens } from "../../src/tokens/token-service.ts";

/** A moment in whole seconds, so that boundaries are easy to write. */
export const START_S = 1_900_000_000;

/** Creates a folder that is removed when the test ends. */
export async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "caisson-tokens-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Returns the uptime of a system that has run for all the time of its wall clock. */
export function running(nowMs: () => number): { sinceBoot: () => SinceBoot } {
  return { sinceBoot: () => ({ boot: "0".repeat(32), ms: nowMs() }) };
}

/** Opens real keys and a real token store, at a time that the test sets. */
export async function testTokens(t: TestContext): Promise<Tokens & { clock: { nowMs: number }; folder: string }> {
  const folder = await temporaryFolder(t);
  const clock = { nowMs: START_S * 1_000 };
  const tokens = await openTokens(folder, undefined, { nowMs: () => clock.nowMs, uptime: running(() => clock.nowMs) });
  t.after(() => tokens.close());
  return { ...tokens, clock, folder };
}

/** Returns the caller of an issued token that is not verified, so that its key is unknown. */
export function callerOf(claims: Claims, store: Pick<Tokens["store"], "issued"> = NO_STORE): Caller {
  return new Caller(claims, null, [], store);
}

const NO_STORE = { issued: () => undefined };

/** Returns a valid claims set with changes. */
export function payload(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    iss: "caisson",
    aud: "caisson",
    jti: randomUUID(),
    iat: START_S,
    exp: START_S + 3_600,
    containers: ["demo"],
    can: ["run"],
    ...changes,
  };
}

/** Signs a text with the service's own key and its usual header. */
export async function signed(keys: KeyRing, text: string): Promise<string> {
  const { kid, key } = keys.signing;
  return await new CompactSign(Buffer.from(text))
    .setProtectedHeader({ alg: "EdDSA", typ: "caisson+jwt", kid })
    .sign(key);
}

/** Awaits a `Problem`, thrown or as a rejection. */
export async function problemOf(action: () => unknown): Promise<Problem> {
  let thrown: unknown;
  try {
    await action();
  } catch (error) {
    thrown = error;
  }
  assert.ok(thrown instanceof Problem, `not a Problem: ${String(thrown)}`);
  return thrown;
}
