import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ConfigError, readConfig, type Sources } from "../../src/config/read.ts";
import { describePlace, redisPlace } from "../../src/config/redis-place.ts";

const PLAIN = { username: null, password: null, master: "", database: 0, tls: false };
const LOCAL = [{ host: "127.0.0.1", port: 6_379 }];

describe("the URL of a Redis", () => {
  it("is a server, with a default port", () => {
    assert.deepEqual(redisPlace("redis://127.0.0.1"), { ...PLAIN, kind: "server", hosts: LOCAL });
    assert.deepEqual(redisPlace("rediss://cache.example.com:6380/3"), {
      ...PLAIN,
      kind: "server",
      tls: true,
      hosts: [{ host: "cache.example.com", port: 6_380 }],
      database: 3,
    });
    assert.deepEqual(redisPlace("redis://[::1]:7/").hosts, [{ host: "::1", port: 7 }]);
  });

  it("may contain a user and a password, percent-encoded", () => {
    const { username, password, hosts } = redisPlace("redis://al%2Fice:p%40ss:word@127.0.0.1");
    assert.deepEqual([username, password, hosts], ["al/ice", "p@ss:word", LOCAL]);
    assert.equal(redisPlace("redis://:secret@127.0.0.1").username, null);
  });

  it("may be the master of sentinels, or a cluster", () => {
    assert.deepEqual(redisPlace("redis-sentinel://a,b:7/main/2"), {
      ...PLAIN,
      kind: "sentinel",
      hosts: [
        { host: "a", port: 26_379 },
        { host: "b", port: 7 },
      ],
      master: "main",
      database: 2,
    });
    assert.deepEqual(redisPlace("rediss-cluster://a,b").hosts, [
      { host: "a", port: 6_379 },
      { host: "b", port: 6_379 },
    ]);
  });

  for (const url of [
    "",
    "127.0.0.1",
    "http://a",
    "redis://",
    "redis://a:0",
    "redis://a:70000",
    "redis://a/main",
    "redis://a,",
    "redis://a b",
    "redis://a?tls=1",
    "redis-sentinel://a",
    "redis-cluster://a/1",
    "redis://u:%zz@a",
  ]) {
    it(`is not ${url || "an empty text"}`, () => assert.throws(() => redisPlace(url), TypeError));
  }

  it("is described without its password, also if it is rejected", () => {
    assert.equal(describePlace(redisPlace("redis://u:secret@[::1]:7")), "the Redis at [::1]:7");
    assert.throws(
      () => redisPlace("redis://u:secret@a:0"),
      (error: Error) => !error.message.includes("secret"),
    );
  });
});

describe("the settings of Redis", () => {
  it("accept a password in the variable and in the file, but not on the command line", () => {
    const withPassword = "redis://:secret@127.0.0.1";
    assert.equal(faults({ environment: { CAISSON_REDIS: withPassword } }), "");
    assert.equal(faults({ file: { redis: withPassword } }), "");
    const message = faults({ flags: { redis: withPassword } });
    assert.match(message, /--redis-password-file/);
    assert.doesNotMatch(message, /secret/);
  });

  it("accept a single password", () => {
    const environment = { CAISSON_REDIS: "redis://:secret@127.0.0.1" };
    assert.match(faults({ environment, flags: { redisPasswordFile: "/p" } }), /set twice/);
    assert.match(faults({ flags: { redisPasswordFile: "/p" } }), /needs --redis/);
  });

  it("reject a realm that would select the node of a cluster", () => {
    for (const realm of ["{a}", "", "a:b", "-a", "x".repeat(65)]) assert.match(faults({ flags: { realm } }), /realm/);
    assert.equal(faults({ flags: { realm: "a-1.b_2" } }), "");
  });
});

function faults(sources: Partial<Sources>): string {
  try {
    readConfig({ flags: {}, environment: {}, file: {}, ...sources });
    return "";
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message;
  }
}
