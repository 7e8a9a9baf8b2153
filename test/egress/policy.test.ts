import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { EgressDenied } from "../../src/egress/denied.ts";
import { type EgressOptions, egressPolicy } from "../../src/egress/policy.ts";

const PUBLIC_ADDRESS = "93.184.216.34";

/** Creates a policy for which names resolve to these addresses, and records every lookup. */
function policyOver(names: Readonly<Record<string, readonly string[]>>, options: Partial<EgressOptions> = {}) {
  const lookups: string[] = [];
  const policy = egressPolicy({
    mode: "public",
    allow: [],
    ownAddresses: () => [],
    resolver: async (name) => {
      lookups.push(name);
      return (names[name] ?? []).map((address) => ({ address }));
    },
    ...options,
  });
  return { policy, lookups };
}

function denied(reason: string): (error: unknown) => boolean {
  return (error) => error instanceof EgressDenied && error.reason === reason;
}

describe("a policy of mode public", () => {
  it("returns the addresses of a name after one query, in lower case and without the final dot", async () => {
    const { policy, lookups } = policyOver({ "example.com": [PUBLIC_ADDRESS, "2606:4700::1111"] });
    assert.deepEqual(await policy.resolve("EXAMPLE.com.", 443), [
      { address: PUBLIC_ADDRESS, family: 4 },
      { address: "2606:4700::1111", family: 6 },
    ]);
    assert.deepEqual(lookups, ["example.com"]);
  });

  it("returns a public literal without a DNS query", async () => {
    const { policy, lookups } = policyOver({});
    assert.deepEqual(await policy.resolve("8.8.8.8", 80), [{ address: "8.8.8.8", family: 4 }]);
    assert.deepEqual(await policy.resolve("[2606:4700:0::1111]", 80), [{ address: "2606:4700::1111", family: 6 }]);
    assert.deepEqual(lookups, []);
  });

  it("checks the address behind every spelling", async () => {
    const { policy } = policyOver({});
    const spellings = [
      ...["127.0.0.1", "127.1", "127.0.1", "2130706433", "0177.0.0.1", "0x7f.1", "0x7f000001", "017700000001"],
      ...[
        "127.0.0.1.",
        "2130706433.",
        "127.0.0.%31",
        "%31%32%37.1",
        "１２７.０.０.１",
        "127。0。0。1",
        "①②⑦.1",
        "0",
        "0x0",
      ],
      ...["::1", "[::1]", "[0:0::1]", "::ffff:127.0.0.1", "[::ffff:7f00:1]", "::ffff:8.8.8.8", "[64:ff9b::8.8.8.8]"],
      ...["0xa9fea9fe", "169.254.43518", "2852039166", "0xA.1", "3232235521", "0300.0250.1", "168.63.33040"],
    ];
    for (const host of spellings) await assert.rejects(policy.resolve(host, 80), denied("address"), host);
  });

  it("refuses an invalid host, so that no parser can find another host in it", async () => {
    const { policy, lookups } = policyOver({});
    const hosts = [
      ...["", " ", ".", "a..", "127.0.0.1..", "a b", "a/b", "a\\b", "a?b", "a#b", "user@a", "a:80", "a\tb", "a\nb"],
      ...["8.8.8.8\0", "a%2fb", "a%00b", "[::1", "::1]", "[::1]x", "fe80::1%eth0", "[fe80::1%25eth0]", "[8.8.8.8]"],
      ...["256.1.1.1", "1.2.3.4.5", "0x100000000"],
    ];
    for (const host of hosts) await assert.rejects(policy.resolve(host, 80), denied("host"), JSON.stringify(host));
    assert.deepEqual(lookups, []);
  });

  it("refuses a name with one private address among public ones, and does not reveal that address", async () => {
    const { policy } = policyOver({ "mixed.example": [PUBLIC_ADDRESS, "10.1.2.3"] });
    await assert.rejects(policy.resolve("mixed.example", 80), (error) => {
      assert.ok(error instanceof EgressDenied);
      assert.equal(error.message, '"mixed.example" resolves to an address that is not public');
      return true;
    });
  });

  it("refuses the machine's own addresses, which it reads each time, in any spelling", async () => {
    let own: string[] = [];
    const { policy } = policyOver({}, { ownAddresses: () => own });
    await policy.resolve(PUBLIC_ADDRESS, 80);
    own = [PUBLIC_ADDRESS, "2606:4700:0:0::1"];
    await assert.rejects(policy.resolve(PUBLIC_ADDRESS, 80), denied("address"));
    await assert.rejects(policy.resolve("2606:4700::1", 80), denied("address"));
  });

  it("refuses other ports before a DNS query", async () => {
    const { policy, lookups } = policyOver({ "example.com": [PUBLIC_ADDRESS] });
    for (const port of [0, 1, 22, 25, 53, 6379, 65_536, Number.NaN]) {
      await assert.rejects(policy.resolve("example.com", port), denied("port"), String(port));
    }
    assert.deepEqual(lookups, []);
    for (const port of [80, 443, 8080, 8443]) await policy.resolve("example.com", port);
    const { policy: other } = policyOver({ "example.com": [PUBLIC_ADDRESS] }, { ports: [22] });
    await other.resolve("example.com", 22);
    await assert.rejects(other.resolve("example.com", 80), denied("port"));
  });

  it("throws the error of a name that does not resolve", async () => {
    const policy = egressPolicy({ mode: "public", allow: [] });
    await assert.rejects(policy.resolve("nowhere.invalid", 80), { syscall: "getaddrinfo" });
    const { policy: empty } = policyOver({});
    await assert.rejects(empty.resolve("example.com", 80), { code: "ENOTFOUND" });
  });

  it("refuses localhost with the system's resolver", async () => {
    await assert.rejects(egressPolicy({ mode: "public", allow: [] }).resolve("localhost", 80), denied("address"));
  });
});

describe("an allowed destination", () => {
  it("may be private and on any port, for the allowed host in any spelling", async () => {
    const allow = [
      { host: "DB.internal.", port: 5432 },
      { host: "127.0.0.1", port: 9000 },
      { host: "::1", port: 9000 },
    ];
    for (const mode of ["none", "public"] as const) {
      const { policy } = policyOver({ "db.internal": ["10.0.0.5"] }, { allow, mode });
      assert.deepEqual(await policy.resolve("db.Internal", 5432), [{ address: "10.0.0.5", family: 4 }]);
      assert.deepEqual(await policy.resolve("2130706433", 9000), [{ address: "127.0.0.1", family: 4 }]);
      assert.deepEqual(await policy.resolve("[0::1]", 9000), [{ address: "::1", family: 6 }]);
    }
  });

  it("allows no other port, and no other name for the same address", async () => {
    const { policy } = policyOver(
      { "db.internal": ["10.0.0.5"], "rebound.example": ["10.0.0.5"] },
      { allow: [{ host: "db.internal", port: 80 }] },
    );
    await assert.rejects(policy.resolve("db.internal", 443), denied("address"));
    await assert.rejects(policy.resolve("rebound.example", 80), denied("address"));
    await assert.rejects(policy.resolve("10.0.0.5", 80), denied("address"));
  });

  it("must be an address to allow the service itself, because the owner of a name can point it here", async () => {
    const own = ["10.0.0.7", "2001:db8::7"];
    const names = {
      "a.test": ["127.0.0.1"],
      "b.test": ["10.0.0.7"],
      "c.test": ["192.168.0.1", "::1"],
      "d.test": ["0.0.0.0"],
      "e.test": ["::ffff:127.0.0.9"],
      "f.test": ["::ffff:10.0.0.7"],
      "g.test": ["2001:db8:0::7"],
      localhost: ["127.0.0.1"],
    };
    const hosts = [...Object.keys(names), "127.0.0.1", "10.0.0.7"];
    const allow = hosts.flatMap((host) => [7_070, 7_071].map((port) => ({ host, port })));
    const { policy } = policyOver(names, { allow, ownAddresses: () => own, ownPorts: () => [7_070] });
    for (const host of Object.keys(names)) {
      if (host !== "localhost") await assert.rejects(policy.resolve(host, 7_070), denied("self"), host);
      await policy.resolve(host, 7_071);
    }
    for (const host of ["localhost", "127.0.0.1", "10.0.0.7"]) await policy.resolve(host, 7_070);
  });

  it("must be an address to allow the service's Redis, which is refused if it is public or allowed by name", async () => {
    const names = {
      "redis.test": [PUBLIC_ADDRESS],
      "other.test": ["8.8.8.8", PUBLIC_ADDRESS],
      "db.internal": ["10.0.0.5"],
    };
    const allow = [
      { host: "db.internal", port: 6_379 },
      { host: "10.0.0.5", port: 6_379 },
    ];
    const ownPlaces = [
      { host: "Redis.test", port: 6_379 },
      { host: "10.0.0.5", port: 6_379 },
    ];
    const { policy, lookups } = policyOver(names, { allow, ownPlaces, ports: [80, 6_379] });
    for (const host of ["redis.test", "other.test", PUBLIC_ADDRESS, "db.internal"]) {
      await assert.rejects(policy.resolve(host, 6_379), denied("self"), host);
    }
    await policy.resolve("10.0.0.5", 6_379);
    await policy.resolve("8.8.8.8", 6_379);
    const lost = policyOver({}, { ownPlaces: [{ host: "gone.test", port: 6_379 }], ports: [6_379] });
    await assert.rejects(lost.policy.resolve("8.8.8.8", 6_379), denied("self"), "its address cannot be resolved");
    lookups.length = 0;
    await policy.resolve("other.test", 80);
    assert.deepEqual(lookups, ["other.test"], "the service's server is not resolved for another port");
  });

  it("may be looked up without its port, and no other private name may be", async () => {
    const allow = [{ host: "db.internal", port: 5432 }];
    for (const mode of ["none", "public"] as const) {
      const { policy, lookups } = policyOver(
        { "db.internal": ["10.0.0.5"], "x.internal": ["10.0.0.6"] },
        { allow, mode },
      );
      assert.deepEqual(await policy.lookup("DB.internal"), [{ address: "10.0.0.5", family: 4 }]);
      await assert.rejects(policy.lookup("x.internal"), denied(mode === "none" ? "mode" : "address"));
      assert.equal(lookups.includes("x.internal"), mode === "public");
      await assert.rejects(policy.lookup("a b"), denied("host"));
    }
  });

  it("is resolved once for all callers, so that no caller delays others", async () => {
    const allow = [{ host: "db.internal", port: 5432 }];
    const { policy, lookups } = policyOver({ "db.internal": ["10.0.0.5"] }, { allow });
    const callers = Array.from({ length: 100 }, (_, at) =>
      at % 2 === 0 ? policy.lookup("db.internal") : policy.resolve("DB.internal", 5432),
    );
    for (const found of await Promise.all(callers)) assert.deepEqual(found, [{ address: "10.0.0.5", family: 4 }]);
    assert.deepEqual(lookups, ["db.internal"]);
  });

  it("is checked at each connection, also if its address is already known", async () => {
    const own: string[] = [];
    const allow = [{ host: "db.internal", port: 7_070 }];
    const options = { allow, ownAddresses: () => own, ownPorts: () => [7_070] };
    const { policy, lookups } = policyOver({ "db.internal": ["10.0.0.5"] }, options);
    await policy.resolve("db.internal", 7_070);
    own.push("10.0.0.5");
    await assert.rejects(policy.resolve("db.internal", 7_070), denied("self"));
    assert.deepEqual(lookups, ["db.internal"]);
  });

  it("must be a host with a port", () => {
    for (const [host, port] of [
      ["*", 80],
      ["*.example.com", 80],
      ["", 80],
      ["a b", 80],
      ["fe80::1%eth0", 80],
      ["example.com", 0],
      ["example.com", 65_536],
      ["example.com", 1.5],
    ] as const) {
      assert.throws(() => egressPolicy({ mode: "public", allow: [{ host, port }] }), TypeError);
    }
  });
});

describe("addresses of an earlier lookup", () => {
  it("are checked like a new DNS answer, without a DNS query", async () => {
    const { policy, lookups } = policyOver({}, { allow: [{ host: "db.internal", port: 5432 }] });
    assert.deepEqual(await policy.resolve("a.test", 80, ["8.8.8.8"]), [{ address: "8.8.8.8", family: 4 }]);
    assert.deepEqual(await policy.resolve("db.internal", 5432, ["10.0.0.5"]), [{ address: "10.0.0.5", family: 4 }]);
    await assert.rejects(policy.resolve("a.test", 80, ["10.0.0.5"]), denied("address"));
    await assert.rejects(policy.resolve("db.internal", 80, ["10.0.0.5"]), denied("address"));
    assert.deepEqual(lookups, []);
  });
});

describe("a policy of mode none", () => {
  it("allows nothing, and sends no DNS query", async () => {
    const { policy, lookups } = policyOver({ "example.com": [PUBLIC_ADDRESS] }, { mode: "none" });
    await assert.rejects(policy.resolve("example.com", 443), denied("mode"));
    await assert.rejects(policy.resolve("8.8.8.8", 443), denied("mode"));
    assert.deepEqual(lookups, []);
  });
});
