import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { readKeyFile, writeKeyFile } from "../../../src/tokens/keys/key-file.ts";
import { rotateKeys } from "../../../src/tokens/keys/key-rotation.ts";
import { endedKeys } from "../../../src/tokens/keys/retire-keys.ts";
import type { Tokens } from "../../../src/tokens/token-service.ts";
import { testTokens } from "../support.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

type World = Tokens & { clock: { nowMs: number }; folder: string };

/** Issues one token of an hour, then rotates. */
async function rotated(
  t: TestContext,
  claims: object = { containers: ["a"], expiresIn: "1h" },
): Promise<[World, string]> {
  const world = await testTokens(t);
  const old = world.keys.signing.kid;
  await world.issue(claims, "me");
  world.clock.nowMs += 1_000;
  await rotateKeys(join(world.folder, "keys.json"), world.clock.nowMs);
  await world.keys.reload();
  return [world, old];
}

async function ended({ keys, store: registry, clock }: World): Promise<string[]> {
  return [...(await endedKeys(keys, registry, clock.nowMs))];
}

test("a replaced key ends when no token that it may have signed is valid any more", async (t) => {
  const [world, old] = await rotated(t);
  assert.deepEqual(await ended(world), []);
  // A node that has not read the new key may have signed with the old one for as long.
  world.clock.nowMs += DAY_MS - 1_000;
  assert.deepEqual(await ended(world), []);
  world.clock.nowMs += 2_000;
  assert.deepEqual(await ended(world), [old]);
});

test("a valid token keeps the key that may have signed it", async (t) => {
  const [world, old] = await rotated(t, { containers: ["a"], expiresIn: "72h" });
  world.clock.nowMs += 71 * HOUR_MS;
  assert.deepEqual(await ended(world), []);
  world.clock.nowMs += HOUR_MS + 6_000;
  assert.deepEqual(await ended(world), [old]);
});

test("a token without an end keeps its key until it or a token above it is revoked", async (t) => {
  const [world, old] = await rotated(t, { admin: true, exp: null });
  world.clock.nowMs += 365 * DAY_MS;
  assert.deepEqual(await ended(world), []);
  const [issued] = await world.store.list("", 1);
  await world.revoke(issued!.claims.jti, "me");
  assert.deepEqual(await ended(world), [old]);
});

test("a token keeps the key that signed it, and no key that was replaced later", async (t) => {
  const [world, old] = await rotated(t, { admin: true, exp: null });
  const next = world.keys.signing.kid;
  await world.issue({ containers: ["a"], expiresIn: "1h" }, "me");
  world.clock.nowMs += 1_000;
  await rotateKeys(join(world.folder, "keys.json"), world.clock.nowMs);
  await world.keys.reload();
  world.clock.nowMs += 2 * DAY_MS;
  assert.deepEqual(await ended(world), [next]);
  assert.equal(world.keys.retired.at(-1)!.kid, old);
});

test("newer tokens keep no older key, and the signing key never ends", async (t) => {
  const [world, old] = await rotated(t);
  world.clock.nowMs += 3 * DAY_MS;
  await world.issue({ admin: true, exp: null }, "me");
  assert.deepEqual(await ended(world), [old]);
});

test("a key without a known time of replacement does not end automatically", async (t) => {
  const [world] = await rotated(t);
  const file = join(world.folder, "keys.json");
  const keys = (await readKeyFile(file))!;
  await writeKeyFile(
    file,
    keys.map(({ kty, crv, x, d, kid, alg, use }) => ({ kty, crv, x, d, kid, alg, use })),
    { replace: true },
  );
  await world.keys.reload();
  world.clock.nowMs += 365 * DAY_MS;
  assert.deepEqual(await ended(world), []);
});

test("an ended key is neither published nor accepted, even after a reload", async (t) => {
  const [world, old] = await rotated(t, { containers: ["a"], expiresIn: "720h" });
  const [issued] = await world.store.list("", 1);
  assert.equal(issued!.claims.containers[0], "a");
  world.keys.end(new Set([old]));
  await world.keys.reload();
  assert.ok(!world.keys.jwks().keys.some(({ kid }) => kid === old));
  assert.equal(world.keys.held.get(old), undefined);
  world.keys.end(new Set([world.keys.signing.kid]));
  assert.ok(world.keys.held.get(world.keys.signing.kid), "the signing key is held");
});

test("a store that cannot answer ends no key", async (t) => {
  const [world] = await rotated(t);
  world.clock.nowMs += 3 * DAY_MS;
  const failing = {
    isKeyUsed: () => {
      throw new Error("not now");
    },
  };
  await assert.rejects(endedKeys(world.keys, failing, world.clock.nowMs + DAY_MS), /not now/);
});
