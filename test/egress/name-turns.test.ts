import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { EgressDenied } from "../../src/egress/denied.ts";
import { nameTurns } from "../../src/egress/name-turns.ts";
import { egressPolicy } from "../../src/egress/policy.ts";
import { dnsNames } from "../../src/egress/resolve-names.ts";
import { FROM_GUEST } from "../../src/wire/messages.ts";
import { start } from "../containers/recorder.ts";
import { until } from "../contract/until.ts";
import { openNetwork } from "./puppet-network.ts";
import { A, serveNames } from "./serve-names.ts";

const LONG_MS = 60_000;

/** A resolver whose names never resolve until the test ends them. */
function endlessNames() {
  const asked = new Map<string, () => void>();
  return {
    asked,
    names: (name: string): Promise<readonly { address: string }[]> =>
      new Promise((resolve) => asked.set(name, () => resolve([{ address: "8.8.8.8" }]))),
  };
}

describe("name lookups in progress", () => {
  it("are limited for a family, and a name has its turn until its queries have ended, also after its caller has left", async () => {
    const { asked, names } = endlessNames();
    const turns = nameTurns(names, { most: 4, mostOfFamily: 2, waitMs: LONG_MS });
    const left = new AbortController();
    const lookups = ["a", "b", "c"].map((name) => turns(name, { family: "greedy", signal: left.signal }));
    left.abort();
    await assert.rejects(lookups[2]!, { name: "AbortError" });
    const waiting = turns("d", { family: "greedy" });
    assert.deepEqual([...asked.keys()], ["a", "b"]);
    const other = turns("e", { family: "other" });
    asked.get("e")!();
    assert.deepEqual(await other, [{ address: "8.8.8.8" }]);
    assert.deepEqual([...asked.keys()], ["a", "b", "e"]);
    asked.get("a")!();
    await until(() => asked.has("d"), "the next name has its turn");
    asked.get("d")!();
    await waiting;
    assert.ok(!asked.has("c"));
    asked.get("b")!();
    await Promise.allSettled(lookups);
  });

  it("are limited for all families together, which take turns", async () => {
    const { asked, names } = endlessNames();
    const turns = nameTurns(names, { most: 2, mostOfFamily: 2, waitMs: LONG_MS });
    const lookups = ["a", "b", "c", "d"].map((name) => turns(name, { family: "greedy" }));
    lookups.push(turns("e", { family: "other" }));
    for (const name of ["a", "b", "c", "e", "d"]) {
      await until(() => asked.has(name), `${name} has its turn`);
      asked.get(name)!();
    }
    await Promise.all(lookups);
    assert.deepEqual([...asked.keys()].slice(0, 2), ["a", "b"]);
    assert.ok([...asked.keys()].indexOf("e") < 4, "the other family did not wait for all names of the first");
  });

  it("are refused with a reason if they wait too long for their turn", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { asked, names } = endlessNames();
    const turns = nameTurns(names, { most: 4, mostOfFamily: 1, waitMs: 5_000 });
    const first = turns("a", { family: "greedy" });
    const late = assert.rejects(turns("b", { family: "greedy" }), (error) => {
      assert.ok(error instanceof EgressDenied);
      assert.equal(error.reason, "limit");
      assert.match(error.message, /^"b" waited 5 s for a name lookup; at most 1 of one token family are in progress$/);
      return true;
    });
    t.mock.timers.tick(5_000);
    await late;
    asked.get("a")!();
    await first;
    assert.deepEqual([...asked.keys()], ["a"]);
  });

  it("of tasks that no longer wait do not become more queries than a DNS resolver can have, and other families resolve names", async (t) => {
    const end = Promise.withResolvers<void>();
    const silent = await serveNames(t, {}, end.promise);
    const answering = await serveNames(t, { "good.test": { [A]: [[8, 8, 8, 8]] } });
    const never = dnsNames([silent.address]);
    const good = dnsNames([answering.address]);
    const policy = egressPolicy({
      mode: "public",
      allow: [],
      resolver: (name) => (name === "good.test" ? good(name) : never(name)),
    });
    const lookups = Array.from({ length: 40_000 }, async (_, each) => {
      const left = new AbortController();
      const lookup = policy.lookup(`n${each}.test`, { family: "greedy", signal: left.signal });
      left.abort();
      await lookup.catch(() => {});
    });
    assert.deepEqual(await policy.lookup("good.test", { family: "other" }), [{ address: "8.8.8.8", family: 4 }]);
    const names = new Set(silent.queries.map((query) => query.split(" ", 1)[0]!));
    assert.ok(names.size > 0 && names.size <= 256, `${names.size} names were asked`);
    end.resolve();
    await Promise.all(lookups);
  });
});

describe("a guest that opens connections to names and leaves them", () => {
  it("has at most the lookups of its family in progress", async (t) => {
    const { asked, names } = endlessNames();
    const { wire, guest, puppet } = await openNetwork(t, { resolver: names });
    for (let each = 0; each < 3; each++) {
      const run = start(guest, "1");
      for (let name = 0; name < 500; name++) wire.open(run.id, `n${each}-${name}.test`, 443).reset();
      puppet.say(FROM_GUEST.result, run.id, "0");
      await run.ended;
    }
    assert.equal(asked.size, 256);
  });
});
