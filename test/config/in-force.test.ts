import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { settingsInForce, type SettingInForce } from "../../src/config/in-force.ts";
import { readSettings } from "../../src/config/read.ts";

function inForce(environment: Readonly<Record<string, string>>, flags = {}): (name: string) => SettingInForce {
  const { config, origins } = readSettings({ flags, environment, file: {} });
  const settings = settingsInForce(config, origins);
  return (name) => settings.find((each) => each.name === name)!;
}

describe("the settings in force", () => {
  it("are texts that the variable accepts, and give the same configuration again", () => {
    const given = {
      CAISSON_WALL_LIMIT: "90s",
      CAISSON_EGRESS_ALLOW: "db.internal:5432,[::1]:80",
      CAISSON_AUTH_LIMIT: "minute=5,day=70",
      CAISSON_QUERY_KEY: "false",
      CAISSON_LOG_DRAIN: "file:/var/log/runs",
      CAISSON_REDIS: "rediss-sentinel://a:1,b:26379/main/3",
      CAISSON_METRICS_CONTAINERS: "a,b",
      CAISSON_NPM_ALLOW: "zod,lodash@4",
      CAISSON_NPM_SCOPE: "@acme=https://npm.acme.example,@b=https://b.example",
    };
    const of = inForce(given);
    const written = Object.entries(given).map(([variable]) => {
      const name = variable
        .slice("CAISSON_".length)
        .toLowerCase()
        .replaceAll(/_[a-z]/g, (part) => part[1]!.toUpperCase());
      assert.equal(of(name).setBy, "variable", name);
      return [variable, of(name).value!] as const;
    });
    const again = readSettings({ flags: {}, environment: Object.fromEntries(written), file: {} });
    assert.deepEqual(again, readSettings({ flags: {}, environment: given, file: {} }));
  });

  it("name the origin with the highest precedence", () => {
    const of = inForce({ CAISSON_POOL: "3" }, { pool: "2" });
    assert.deepEqual([of("pool").value, of("pool").default, of("pool").setBy], ["2", "4", "flag"]);
    assert.equal(of("wallLimit").setBy, "default");
  });

  it("contain no password of a URL, and no path or query of a collector", () => {
    const of = inForce({
      CAISSON_REDIS: "redis://bob:s3cret@127.0.0.1:6379/2",
      CAISSON_LOG_DRAIN: "https://logs.example/hook/s3cret?key=s3cret",
    });
    assert.equal(of("redis").value, "redis://(hidden)@127.0.0.1:6379/2");
    assert.equal(of("logDrain").value, "https://logs.example");
  });
});
