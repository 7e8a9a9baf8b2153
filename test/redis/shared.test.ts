import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";

import type { PolicyChange } from "../../src/policies/store.ts";
import { openShared, type Shared } from "../../src/stores.ts";
import { isRevokedOnRecord } from "../../src/tokens/store.ts";
import { until } from "../contract/until.ts";
import { policy, remove, set } from "../suites/policy-store.ts";
import { payload, problemOf } from "../tokens/support.ts";
import { missing, type RedisServer, startRedis } from "./server.ts";

const LAG_MS = 2_000;
const LIMITED = policy({ minute: 7 });

async function nodesOn(server: RedisServer, body: (one: Shared, other: Shared) => Promise<void>): Promise<void> {
  const nodes = [];
  for (let node = 0; node < 2; node++) nodes.push(await openShared({ revocationLag: LAG_MS }, await server.link()));
  try {
    await body(nodes[0]!, nodes[1]!);
  } finally {
    for (const node of nodes) node.close();
  }
}

/** Asserts that a node has a change of another node within the lag, or refuses to answer, also on a busy machine. */
async function knownInTime(holds: () => boolean, what: string): Promise<void> {
  const sinceMs = performance.now();
  const isKnown = (): boolean | null => {
    try {
      return holds();
    } catch {
      return null;
    }
  };
  await until(() => {
    const isLate = performance.now() - sinceMs > LAG_MS;
    const known = isKnown();
    assert.ok(!isLate || known !== false, `${what} within ${LAG_MS} ms`);
    return known === true;
  }, what);
}

/** Returns the change that adds a label. */
function labelling(name: string): PolicyChange {
  return (before) => ({ ...before, labels: { ...before.labels, [name]: "1" } });
}

describe("the data that nodes share", { skip: await missing("redis-server") }, () => {
  it("has a revocation at once on its node, and soon on all nodes, also on nodes that start later", async () => {
    await using server = await startRedis();
    const jti = randomUUID();
    await nodesOn(server, async ({ registry }, other) => {
      assert.equal(await registry.revoke(jti, "me", 0), true);
      assert.equal(registry.isRevoked(jti), true);
      assert.equal(await registry.revoke(jti, "me", 0), false);
      await knownInTime(() => other.registry.isRevoked(jti), "the other node has the change");
      assert.equal(other.registry.isRevoked(randomUUID()), false);
    });
    await nodesOn(server, async ({ registry }) => assert.equal(registry.isRevoked(jti), true));
  });

  it("has the tokens that other nodes issued, until they expire", async () => {
    await using server = await startRedis();
    await nodesOn(server, async (one, other) => {
      const [first, second] = [
        payload(),
        payload({ exp: undefined, admin: true, containers: undefined, can: undefined }),
      ];
      await one.registry.record(first as never, "me", 5);
      await one.registry.record(second as never, "me", 5);
      const issued = await other.registry.issued(String(first["jti"]));
      assert.deepEqual([issued?.claims.jti, issued?.issuedBy, issued?.issuedAt], [first["jti"], "me", 5]);
      assert.equal(await other.registry.issued(randomUUID()), undefined);
      // Without the list of all tokens.
      const keys = (await server.client.keys("*:issued")).filter((key) => !key.endsWith(":tokens:issued"));
      const ttls = await Promise.all(keys.map((key) => server.client.pttl(key)));
      assert.deepEqual(
        ttls.map((ttl) => ttl > 0).toSorted((a, b) => Number(a) - Number(b)),
        [false, true],
      );
    });
  });

  it("has a new or removed policy at once on its node, and soon on all nodes", async () => {
    await using server = await startRedis();
    await nodesOn(server, async ({ policies }, other) => {
      await set(policies, "acme", LIMITED);
      assert.deepEqual(policies.get("acme"), LIMITED);
      await knownInTime(() => other.policies.get("acme") !== undefined, "the other node has the change");
      const known = other.policies.get("acme");
      await set(policies, "other", LIMITED);
      await until(() => other.policies.get("other") !== undefined, "the other node has the next policy");
      assert.equal(other.policies.get("acme"), known);
      await remove(other.policies, "acme");
      await knownInTime(() => policies.get("acme") === undefined, "the first node has the change");
    });
  });

  it("loses no change of a policy that two nodes make at the same time", async () => {
    await using server = await startRedis();
    await nodesOn(server, async (one, other) => {
      const suspended = { at: 1, by: "me", endsRuns: false };
      // Neither node has received the change of the other node when it makes its own.
      await one.policies.change("acme", (before) => ({ ...before, suspended }), "me");
      await other.policies.change("acme", (before) => ({ ...before, description: "other" }), "me");
      const labels = Array.from({ length: 8 }, (_, at) => `label-${at}`);
      await Promise.all(
        labels.map((name, at) => (at % 2 ? one : other).policies.change("acme", labelling(name), "me")),
      );
      const last = await one.policies.change("acme", (before) => before, "me");
      assert.deepEqual([last.after.suspended, last.after.description], [suspended, "other"]);
      assert.deepEqual(Object.keys(last.after.labels).toSorted(), labels);
    });
  });

  it("has a suspension on all nodes within the lag, and each node reports it", async () => {
    await using server = await startRedis();
    await nodesOn(server, async (one, other) => {
      const reported: string[] = [];
      other.policies.onSuspended((container, { endsRuns }) => reported.push(`${container} ${endsRuns}`));
      const suspended = { at: 1, by: "me", endsRuns: true };
      await set(one.policies, "acme", { ...LIMITED, suspended });
      await knownInTime(() => other.policies.get("acme")?.suspended != null, "the other node has the change");
      assert.deepEqual(reported, ["acme true"]);
      await set(other.policies, "acme", LIMITED);
      await knownInTime(() => one.policies.get("acme")?.suspended === null, "the first node has the change");
    });
  });

  it("has a restart once on each node, at once on the node that was asked", async () => {
    await using server = await startRedis();
    await nodesOn(server, async (one, other) => {
      const made: string[] = [];
      one.restarts.onRestart(({ container, endsRuns }) => void made.push(`one ${container} ${endsRuns}`));
      other.restarts.onRestart(({ container, endsRuns }) => void made.push(`other ${container} ${endsRuns}`));
      await one.restarts.restart("acme", true);
      assert.deepEqual(made, ["one acme true"]);
      await knownInTime(() => made.length > 1, "the other node has the change");
      await other.restarts.restart("acme", false);
      await until(() => made.length === 4, "the first node has the change");
      assert.deepEqual(made, ["one acme true", "other acme true", "other acme false", "one acme false"]);
    });
  });

  it("is refused on a node that is cut off for longer than the lag, until Redis answers again", async () => {
    await using server = await startRedis();
    await nodesOn(server, async ({ registry, policies }, other) => {
      const jti = randomUUID();
      await server.kill();
      const isUnknown = async (): Promise<boolean> => {
        try {
          return registry.isRevoked(jti);
        } catch {
          return true;
        }
      };
      await until(isUnknown, "the node refuses to answer", 10_000);
      assert.equal((await problemOf(() => registry.isRevoked(jti))).code, "store_unavailable");
      assert.equal((await problemOf(() => policies.get("acme"))).code, "store_unavailable");
      assert.equal((await problemOf(() => registry.revoke(jti, "me", 0))).code, "store_unavailable");
      assert.equal((await problemOf(() => registry.record(payload() as never, "me", 0))).code, "store_unavailable");
      await server.restart();
      await until(async () => !(await isUnknown()), "the node answers again");
      await other.registry.revoke(jti, "me", 0);
      await until(() => registry.isRevoked(jti), "the revocation arrives");
    });
  });

  it("keeps revocations in the memory of nodes after Redis has lost its data, and receives new ones", async () => {
    await using server = await startRedis(["--save", ""]);
    await nodesOn(server, async (one, other) => {
      const jtis = [randomUUID(), randomUUID()];
      await one.registry.revoke(jtis[0]!, "me", 0);
      await until(() => other.registry.isRevoked(jtis[0]!), "the other node has the change");
      await server.client.flushall();
      await one.registry.revoke(jtis[1]!, "me", 0);
      await until(() => other.registry.isRevoked(jtis[1]!), "the other node has the second");
      assert.equal(other.registry.isRevoked(jtis[0]!), true);
    });
  });

  it("has a revocation that was repeated after Redis lost it, for nodes that start later", async () => {
    await using server = await startRedis(["--save", ""]);
    const jti = randomUUID();
    await nodesOn(server, async ({ registry }) => {
      await registry.revoke(jti, "me", 0);
      await server.client.flushall();
      await registry.revoke(jti, "me", 0);
    });
    await nodesOn(server, async ({ registry }) => assert.equal(registry.isRevoked(jti), true));
  });

  it("has the first revocation of a token, also on a node that has not received it yet", async () => {
    await using server = await startRedis();
    await nodesOn(server, async (one, other) => {
      const jti = randomUUID();
      assert.equal(await one.registry.revoke(jti, "first", 1), true);
      assert.equal(await other.registry.revoke(jti, "second", 2), false);
      assert.equal(other.registry.isRevoked(jti), true);
      assert.deepEqual(await other.registry.revocation(jti), { by: "first", at: 1 });
    });
  });

  it("has a revocation on record that a node has not received, of a token and of its parents", async () => {
    await using server = await startRedis();
    await nodesOn(server, async (one, other) => {
      const [jti, below] = [randomUUID(), randomUUID()];
      assert.equal(await isRevokedOnRecord({ jti: below, parents: [jti] }, other.registry), false);
      await one.registry.revoke(jti, "me", 0);
      assert.equal(await isRevokedOnRecord({ jti: below, parents: [jti] }, other.registry), true);
      assert.equal(await isRevokedOnRecord({ jti, parents: [] }, other.registry), true);
    });
  });

  it("lists every token, also those that are issued while another node lists", async () => {
    await using server = await startRedis();
    await nodesOn(server, async (one, other) => {
      const jtis: string[] = [];
      const done = new AbortController();
      const listing = (async () => {
        while (!done.signal.aborted) await other.registry.list("", 1_000);
      })();
      for (let token = 0; token < 300; token++) {
        const issued = payload();
        jtis.push(String(issued["jti"]));
        await one.registry.record(issued as never, "me", 0);
      }
      done.abort();
      await listing;
      const listed = (await one.registry.list("", 1_000)).map(({ claims }) => claims.jti);
      assert.deepEqual(listed, jtis.toSorted());
    });
  });

  it("forgets a revocation after the token has expired everywhere", async () => {
    await using server = await startRedis();
    await nodesOn(server, async ({ registry }) => {
      const old = payload({ iat: 1, exp: 2 });
      await server.client.set("unrelated", 1);
      await registry.record({ ...old, exp: Math.floor(Date.now() / 1_000) - 86_404 } as never, "me", 0);
      await registry.revoke(String(old["jti"]), "me", 0);
      await until(async () => {
        await registry.revoke(randomUUID(), "me", 0);
        return (await server.client.zscore("caisson:{test}:revoked:changes", String(old["jti"]))) === null;
      }, "the revocation is forgotten");
    });
  });

  it("keeps a revocation if the clock of Redis is days ahead of the clock of the node", async (t) => {
    await using server = await startRedis();
    const nowMs = Date.now() - 3 * 86_400_000;
    await nodesOn(server, async ({ registry }) => {
      t.mock.timers.enable({ apis: ["Date"], now: nowMs });
      const jti = randomUUID();
      await registry.revoke(jti, "me", nowMs, Math.floor(nowMs / 1_000) + 60);
      await registry.revoke(randomUUID(), "me", nowMs);
      assert.equal((await registry.revocation(jti))?.by, "me");
    });
  });

  it("keeps the list of a signing key's tokens if the clock of the node is days ahead", async (t) => {
    await using server = await startRedis();
    const nowMs = Date.now();
    const exp = Math.floor(nowMs / 1_000) + 7 * 86_400;
    await nodesOn(server, async ({ registry }) => {
      await registry.record(payload({ exp }) as never, "me", nowMs, ["first"]);
      const aheadMs = nowMs + 9 * 86_400_000;
      t.mock.timers.enable({ apis: ["Date"], now: aheadMs });
      await registry.record(payload({ exp: exp + 9 * 86_400 }) as never, "me", aheadMs, ["first"]);
      assert.equal(await server.client.zcard("caisson:{test}:tokens:signed:first"), 2);
    });
  });
});
