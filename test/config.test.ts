import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SETTINGS } from "../src/config.ts";
import { ConfigError, readConfig, type Sources, variableName } from "../src/config/read.ts";

function read(sources: Partial<Sources>): ReturnType<typeof readConfig> {
  return readConfig({ flags: {}, environment: {}, file: {}, ...sources });
}

function faults(sources: Partial<Sources>): string[] {
  try {
    read(sources);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message.split("\n");
  }
  return [];
}

function withNodeUrl(nodeUrl: string): Partial<Sources> {
  return { flags: { nodeUrl, redis: "redis://127.0.0.1" } };
}

describe("readConfig", () => {
  it("returns the default of every setting, frozen", () => {
    const config = read({});
    assert.deepEqual(
      [config.host, config.port, config.wallLimit, config.memoryLimit],
      ["127.0.0.1", 7_070, 30_000, 2 ** 28],
    );
    assert.ok(Object.isFrozen(config));
  });

  it("accepts a URL of the node that has only a scheme, a host and a port, together with a Redis", () => {
    const urls = {
      "http://10.0.0.7:7070": null,
      "https://a1.example/": "https://a1.example",
      "http://[::1]:7070": null,
    };
    for (const [url, expected] of Object.entries(urls)) assert.equal(read(withNodeUrl(url)).nodeUrl, expected ?? url);
    const refused = [
      "",
      "a1:7070",
      "ftp://a1",
      "http://",
      "http://u:s3cret@a1",
      "http://a1/path",
      "http://a1?",
      "http://a1#x",
    ];
    for (const url of refused) {
      const [fault = ""] = faults(withNodeUrl(url));
      assert.match(fault, /^--node-url/, url);
      assert.doesNotMatch(fault, /s3cret/);
    }
    assert.deepEqual(faults({ flags: { nodeUrl: "http://a1" } }), ["--node-url needs --redis"]);
  });

  it("prefers flags to variables, and variables to the file", () => {
    const environment = { CAISSON_PORT: "2", CAISSON_POOL: "3" };
    const config = read({ flags: { port: "1" }, environment, file: { port: 4, pool: 5, concurrency: 6 } });
    assert.deepEqual([config.port, config.pool, config.concurrency], [1, 3, 6]);
  });

  it("reads a repeatable setting from repeated flags, from commas in a variable, or from a list in the file", () => {
    const expected = { minute: 60, day: 1_000 };
    assert.deepEqual(read({ flags: { containerLimit: ["minute=60", "day=1000"] } }).containerLimit, expected);
    assert.deepEqual(read({ environment: { CAISSON_CONTAINER_LIMIT: "minute=60,day=1000" } }).containerLimit, expected);
    assert.deepEqual(read({ file: { containerLimit: ["minute=60", "day=1000"] } }).containerLimit, expected);
  });

  it("accepts host:port with names, addresses and IPv6 in brackets", () => {
    const { egressAllow } = read({ flags: { egressAllow: ["example.com:443", "127.0.0.1:80", "[::1]:9"] } });
    assert.deepEqual(egressAllow, [
      { host: "example.com", port: 443 },
      { host: "127.0.0.1", port: 80 },
      { host: "::1", port: 9 },
    ]);
  });

  it("allows checks of three hundred tokens a minute for each address by default", () => {
    assert.deepEqual(read({}).authLimit, { minute: 300 });
    assert.deepEqual(read({ flags: { authLimit: ["hour=9"] } }).authLimit, { hour: 9 });
  });

  it("accepts the ranges of proxies as a list and as repeated flags", () => {
    assert.deepEqual(read({}).trustProxy, []);
    const ranges = ["10.0.0.0/8", "::1/128", "192.0.2.1/32"];
    assert.deepEqual(read({ flags: { trustProxy: ["10.0.0.0/8, ::1/128", "192.0.2.1/32"] } }).trustProxy, ranges);
    assert.deepEqual(read({ environment: { CAISSON_TRUST_PROXY: ranges.join() } }).trustProxy, ranges);
    assert.deepEqual(read({ file: { trustProxy: ranges } }).trustProxy, ranges);
    for (const wrong of [
      "10.0.0.1",
      "10.0.0.0/33",
      "::/129",
      "fe80::%eth0/64",
      "localhost/8",
      "10.0.0.0/8/8",
      "/8",
      "",
    ]) {
      assert.equal(faults({ flags: { trustProxy: [wrong] } }).length, 1, wrong);
    }
  });

  it("accepts the ports of egress as a list and as repeated flags", () => {
    assert.deepEqual(read({}).egressPorts, [80, 443, 8_080, 8_443]);
    assert.deepEqual(read({ flags: { egressPorts: ["443, 22", "25"] } }).egressPorts, [443, 22, 25]);
    assert.deepEqual(read({ environment: { CAISSON_EGRESS_PORTS: "443,22" } }).egressPorts, [443, 22]);
    assert.deepEqual(read({ file: { egressPorts: [443, 22] } }).egressPorts, [443, 22]);
  });

  it("reports all faults at once, each with its source", () => {
    const found = faults({
      flags: { wallLimit: "30" },
      environment: { CAISSON_MEMORY_LIMIT: "256MB" },
      file: { port: "x", nonsense: 1 },
    });
    assert.equal(found.length, 4);
    for (const source of ["--wall-limit", "CAISSON_MEMORY_LIMIT", "port in the file", '"nonsense"']) {
      assert.ok(
        found.some((fault) => fault.includes(source)),
        `${source} is not named in ${found.join("; ")}`,
      );
    }
  });

  for (const [flag, value] of [
    ["port", "65536"],
    ["port", "-1"],
    ["wallLimit", "0ms"],
    ["wallLimit", "30 s"],
    ["wallLimit", "9999d"],
    ["memoryLimit", "1MiB"],
    ["isolation", "docker"],
    ["containerLimit", "minute=0"],
    ["containerLimit", "year=5"],
    ["egressAllow", "example.com"],
    ["egressPorts", "0"],
    ["egressPorts", "80,"],
    ["egressPorts", "80-90"],
    ["egressConnections", "0"],
    ["egressConnections", "257"],
    ["egressBytes", "1MB"],
    ["egressTime", "1ms"],
    ["egressAllow", "http://example.com:80"],
    ["trustProxy", "localhost"],
    ["data", ""],
  ] as const) {
    it(`rejects ${value || "an empty value"} for ${flag}`, () => {
      assert.equal(faults({ flags: { [flag]: value } }).length, 1);
    });
  }

  it("rejects a host beyond loopback without TLS, a proxy or --insecure-http", () => {
    assert.match(faults({ flags: { host: "0.0.0.0" } })[0]!, /loopback/);
    assert.deepEqual(faults({ flags: { host: "0.0.0.0", insecureHttp: true } }), []);
    assert.deepEqual(faults({ flags: { host: "0.0.0.0", trustProxy: "10.0.0.0/8" } }), []);
    assert.deepEqual(faults({ flags: { host: "0.0.0.0", tlsCert: "c", tlsKey: "k" } }), []);
    assert.match(faults({ flags: { tlsCert: "c" } })[0]!, /set together/);
  });

  it("rejects the authorization of a collector without a collector, and shows no credential of its URL", () => {
    const [fault] = faults({ flags: { logDrain: "stdout", logDrainAuthorization: "file" } });
    assert.match(fault!, /^--log-drain-authorization needs the URL/);
    const shown = faults({ flags: { logDrain: "https://me:secret@collector.example/" } });
    assert.equal(shown.length, 1);
    assert.ok(!shown[0]!.includes("secret"));
  });

  it("has a unique variable for each setting", () => {
    assert.equal(variableName("wallLimit"), "CAISSON_WALL_LIMIT");
    const names = Object.keys(SETTINGS).map(variableName);
    assert.equal(new Set(names).size, names.length);
  });
});
