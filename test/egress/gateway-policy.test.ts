import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { openNetwork, serveTcp } from "./puppet-network.ts";

const PUBLIC_ADDRESS = "93.184.216.34";

describe("a destination that is not allowed", () => {
  const hosts: [string, number][] = [
    ...["127.0.0.1", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "0.0.0.0", "::1", "[::1]", "localhost"].map(
      (host): [string, number] => [host, 80],
    ),
    ...["10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1", "168.63.129.16"].map(
      (host): [string, number] => [host, 443],
    ),
    ...["::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001::1", "fd00::1", "fe80::1"].map(
      (host): [string, number] => [host, 8_080],
    ),
    ["fe80::1%eth0", 80],
    ["user@example.com", 80],
    ["", 80],
    [PUBLIC_ADDRESS, 25],
    [PUBLIC_ADDRESS, 0],
  ];
  for (const [host, port] of hosts) {
    it(`is denied with a fault that names it: ${host || "an empty host"} port ${port}`, async (t) => {
      const { wire, run, guest, egress } = await openNetwork(t, { resolver: async () => [{ address: "127.0.0.1" }] });
      const fault = await wire.open(run.id, host, port).broke;
      assert.equal(fault.code, "EGRESS_DENIED");
      assert.ok(fault.message.startsWith(`connect to ${JSON.stringify(host)} port ${port} is not allowed: `));
      assert.equal(fault.address, undefined);
      assert.equal(fault.port, port);
      assert.equal(guest.ended, false);
      assert.equal(
        Object.values(egress.counts.refused).reduce((sum, each) => sum + each, 0),
        1,
      );
    });
  }

  it("is reported with the setting that allows it, and never with the addresses of its name", async (t) => {
    const names = { "internal.test": [["10.1.2.3"]], "mixed.test": [[PUBLIC_ADDRESS, "10.1.2.3"]] };
    const { wire, run } = await openNetwork(t, { names });
    for (const host of Object.keys(names)) {
      const fault = await wire.open(run.id, host, 80).broke;
      assert.match(
        fault.message,
        new RegExp(`it resolves to an address that is not public; the operator can allow it`),
      );
      assert.match(fault.message, new RegExp(`--egress-allow ${host}:80$`));
      const answer = await wire.lookup(run.id, host);
      assert.ok("fault" in answer);
      assert.match(answer.fault.message, new RegExp(`^lookup of "${host}" is not allowed: `));
      assert.doesNotMatch(JSON.stringify([fault, answer]), /10\.1\.2\.3/);
    }
  });

  it("is any destination except the allowed ones if egress is switched off", async (t) => {
    const { port } = await serveTcp(t, (socket) => socket.end());
    const { wire, run, dnsQueries } = await openNetwork(t, {
      mode: "none",
      ports: [port],
      names: { "a.test": [["127.0.0.1"]] },
    });
    await wire.open(run.id, "a.test", port).opened;
    const before = dnsQueries.length;
    for (const [host, at] of [
      ["a.test", 80],
      [PUBLIC_ADDRESS, 80],
      ["b.test", port],
    ] as const) {
      assert.match((await wire.open(run.id, host, at).broke).message, /egress is switched off/);
    }
    assert.ok("fault" in (await wire.lookup(run.id, "secret.evil.test")));
    assert.equal(dnsQueries.length, before, "a DNS query can carry data out too");
  });

  it("is any destination if the token permits no network, and otherwise any outside of its net claim", async (t) => {
    const { port, sockets } = await serveTcp(t, (socket) => socket.end());
    const names = { "a.test": [["127.0.0.1"]] };
    const none = await openNetwork(t, { ports: [port], names, net: false });
    assert.match((await none.wire.open(none.run.id, "127.0.0.1", port).broke).message, /the token permits no network/);
    assert.ok("fault" in (await none.wire.lookup(none.run.id, "a.test")));
    assert.equal(none.dnsQueries.length, 0);
    const some = await openNetwork(t, { ports: [port], names, net: ["a.test"] });
    assert.match((await some.wire.open(some.run.id, "127.0.0.1", port).broke).message, /net claim/);
    // A guest can forge a frame that states any address for the name.
    assert.equal((await some.wire.open(some.run.id, "a.test", port, "127.0.0.1").broke).code, "EGRESS_DENIED");
    assert.equal(sockets.length, 0);
    await some.wire.open(some.run.id, "a.test", port).opened;
  });
});

describe("a name whose DNS answers change", () => {
  it("is resolved again after a second, and the service connects to the checked address", async (t) => {
    const first = await serveTcp(t, (socket) => socket.end("first"), "127.0.0.2");
    await serveTcp(t, (socket) => socket.end("second"), "127.0.0.3", first.port);
    const names = { "turns.test": [["127.0.0.2"], ["127.0.0.3"]] };
    let nowMs = 0;
    const { wire, run, dnsQueries } = await openNetwork(t, { ports: [first.port], names, nowMs: () => nowMs });
    for (const [expected, atMs] of [
      ["first", 0],
      ["first", 999],
      ["second", 1_000],
    ] as const) {
      nowMs = atMs;
      const stream = wire.open(run.id, "turns.test", first.port);
      await stream.ended;
      assert.equal(stream.text, expected);
    }
    assert.equal(dnsQueries.length, 2);
  });

  it("is refused after it resolves to a private address, although it resolved to a public one before", async (t) => {
    const { port, sockets } = await serveTcp(t, () => {});
    const { wire, run, dnsQueries } = await openNetwork(t, {
      names: { "rebound.test": [[PUBLIC_ADDRESS], ["127.0.0.1"]] },
      ports: [],
      allow: [],
    });
    const answer = await wire.lookup(run.id, "rebound.test");
    assert.deepEqual(answer, { addresses: [{ address: PUBLIC_ADDRESS, family: 4 }] });
    assert.equal((await wire.open(run.id, "rebound.test", 80).broke).code, "EGRESS_DENIED");
    assert.deepEqual(dnsQueries, ["rebound.test", "rebound.test"]);
    // The private address with the name is refused too, because no lookup of this guest returned it.
    for (const at of [80, port]) {
      assert.equal((await wire.open(run.id, "rebound.test", at, "127.0.0.1").broke).code, "EGRESS_DENIED");
    }
    assert.equal(sockets.length, 0);
  });

  it("is checked by name for a task that looked it up first, and is reached at the returned address", async (t) => {
    const first = await serveTcp(t, (socket) => socket.end("first"), "127.0.0.2");
    await serveTcp(t, (socket) => socket.end("second"), "127.0.0.3", first.port);
    const { port } = first;
    const names = { "turns.test": [["127.0.0.2"], ["127.0.0.3"]] };
    const { wire, run, dnsQueries } = await openNetwork(t, { ports: [port], names, net: ["turns.test"] });
    assert.equal((await wire.open(run.id, "turns.test", port, "127.0.0.2").broke).code, "EGRESS_DENIED");
    assert.deepEqual(await wire.lookup(run.id, "Turns.test"), { addresses: [{ address: "127.0.0.2", family: 4 }] });
    const stream = wire.open(run.id, "turns.test", port, "127.0.0.2");
    await stream.ended;
    assert.equal(stream.text, "first");
    assert.equal(dnsQueries.length, 1);
    // For another port the name is not allowed, and its address is private.
    assert.equal((await wire.open(run.id, "turns.test", 80, "127.0.0.2").broke).code, "EGRESS_DENIED");
  });
});

describe("a lookup", () => {
  it("returns an address unchanged, and reports a name that does not exist as Node does", async (t) => {
    const { wire, run, dnsQueries } = await openNetwork(t);
    for (const [host, family] of [
      ["10.0.0.1", 4],
      ["::1", 6],
    ] as const) {
      assert.deepEqual(await wire.lookup(run.id, host), { addresses: [{ address: host, family }] });
    }
    assert.deepEqual(dnsQueries, []);
    assert.deepEqual(await wire.lookup(run.id, "nowhere.test"), {
      fault: {
        message: "getaddrinfo ENOTFOUND nowhere.test",
        code: "ENOTFOUND",
        errno: -3008,
        syscall: "getaddrinfo",
        hostname: "nowhere.test",
      },
    });
  });

  it("returns a limited number of addresses for a name with thousands", async (t) => {
    const addresses = Array.from({ length: 4_000 }, (_, index) => `93.184.${index >> 8}.${index & 255}`);
    const { wire, run } = await openNetwork(t, { names: { "many.test": [addresses] } });
    const answer = await wire.lookup(run.id, "many.test");
    assert.ok("addresses" in answer && answer.addresses.length === 16);
  });
});

describe("a refusal", () => {
  it("is reported to its run once for each host", async (t) => {
    const { wire, run } = await openNetwork(t, { names: { "internal.test": [["10.0.0.1"]] } });
    for (let each = 0; each < 3; each++) {
      for (const host of ["10.0.0.1", "internal.test"]) await wire.open(run.id, host, 80).broke;
    }
    assert.deepEqual(run.events, ["refused 10.0.0.1 80 address", "refused internal.test 80 address"]);
  });

  it("is counted each time, but reported only a limited number of times", async (t) => {
    const { wire, run, egress } = await openNetwork(t);
    for (let each = 0; each < 100; each++) await wire.open(run.id, `10.0.0.${each}`, 80).broke;
    assert.ok(run.events.length <= 20, `${run.events.length} lines`);
    assert.equal(egress.counts.refused["address"], 100);
  });
});
