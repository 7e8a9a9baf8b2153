import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { LocalPorts, type PortHold } from "../../src/egress/local-ports.ts";
import type { CheckedAddress } from "../../src/egress/policy.ts";
import { start } from "../containers/recorder.ts";
import { until } from "../contract/until.ts";
import { openNetwork, serveTcp } from "./puppet-network.ts";

const FIRST: CheckedAddress = { address: "192.0.2.1", family: 4 };
const SECOND: CheckedAddress = { address: "192.0.2.2", family: 4 };

/** Takes ports until the family gets no more. */
function takeAll(ports: LocalPorts, family: string, addresses: readonly CheckedAddress[] = [FIRST]): PortHold[] {
  const holds: PortHold[] = [];
  for (let hold = ports.take(family, addresses, 443); hold; hold = ports.take(family, addresses, 443)) holds.push(hold);
  return holds;
}

describe("the local ports for a destination", () => {
  it("are divided between families: each may use as many as are left, so that a further family always gets some", () => {
    const ports = new LocalPorts(400);
    assert.equal(takeAll(ports, "first").length, 150);
    assert.equal(takeAll(ports, "second").length, 75);
    assert.equal(takeAll(ports, "third").length, 38);
    for (let family = 4; family <= 8; family++) assert.ok(takeAll(ports, `family ${family}`).length > 0);
  });

  it("are separate for each address and each port", () => {
    const ports = new LocalPorts(40);
    assert.equal(takeAll(ports, "greedy").length, 15);
    assert.notEqual(ports.take("greedy", [FIRST], 80), null);
    assert.deepEqual(ports.take("greedy", [FIRST, SECOND], 443)?.addresses, [SECOND]);
  });

  it("count for every address of an attempt, and after the connection for its address only", () => {
    const ports = new LocalPorts(40);
    const holds = takeAll(ports, "greedy", [FIRST, SECOND]);
    assert.equal(holds.length, 15);
    assert.equal(ports.take("greedy", [SECOND], 443), null);
    for (const hold of holds) hold.connected(FIRST.address);
    assert.equal(ports.take("greedy", [FIRST], 443), null);
    assert.equal(takeAll(ports, "greedy", [SECOND]).length, 15);
    for (const hold of holds) hold.release(false);
    assert.equal(takeAll(ports, "greedy").length, 15);
  });

  it("count for a minute after a connection that this side closed first, and no longer after another", () => {
    let nowMs = 0;
    const ports = new LocalPorts(40, () => nowMs);
    const holds = takeAll(ports, "greedy");
    for (const hold of holds) {
      hold.connected(FIRST.address);
      hold.release(true);
      hold.release(false);
    }
    nowMs = 59_999;
    assert.equal(ports.take("greedy", [FIRST], 443), null);
    nowMs = 61_000;
    const again = takeAll(ports, "greedy");
    assert.equal(again.length, 15);
    for (const hold of again) hold.release(false);
    assert.equal(takeAll(ports, "greedy").length, 15);
  });
});

describe("a guest that connects to one destination again and again", () => {
  it("is refused with the reason when its family has its share, and guests of other families are not", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.on("end", () => socket.end()).resume());
    const localPorts = new LocalPorts(40);
    const { wire, run, guest, egress } = await openNetwork(t, { ports: [port], localPorts });
    for (let each = 0; each < 15; each++) {
      const stream = wire.open(run.id, "127.0.0.1", port);
      await stream.opened;
      stream.reset();
    }
    const fault = await wire.open(run.id, "127.0.0.1", port).broke;
    assert.equal(fault.code, "EGRESS_DENIED");
    assert.match(fault.message, /it has as many connections of this token family as it may have/);
    assert.deepEqual(egress.counts.refused, { limit: 1 });
    const other = await openNetwork(t, { ports: [port], localPorts });
    const otherRun = start(other.guest, "1", () => "{}", { family: "other" });
    await other.wire.open(otherRun.id, "127.0.0.1", port).opened;
    assert.equal(guest.ended, false);
  });

  it("may connect to it without end if the server closes first", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.end().resume());
    const { wire, run, egress } = await openNetwork(t, { ports: [port], localPorts: new LocalPorts(40) });
    for (let each = 0; each < 100; each++) {
      const stream = wire.open(run.id, "127.0.0.1", port);
      await stream.ended;
      stream.end();
      await until(() => egress.counts.open === 0, "the connection is closed");
    }
    assert.deepEqual(egress.counts.refused, {});
  });
});
