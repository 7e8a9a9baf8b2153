import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type Config, SETTINGS } from "../../src/config.ts";
import { readConfig } from "../../src/config/read.ts";

function read(file: Record<string, unknown>): Config {
  return readConfig({ flags: {}, environment: {}, file });
}

describe("a key of the file of settings", () => {
  it("may be the name of the setting, its flag, or its flag without the dashes", () => {
    for (const key of ["wallLimit", "wall-limit", "--wall-limit"]) {
      assert.equal(read({ [key]: "7s" }).wallLimit, 7_000, key);
    }
  });

  it("may be the flag of every setting", () => {
    for (const [key, { flag }] of Object.entries(SETTINGS)) {
      const written = flag.split(" ")[0]!;
      assert.throws(() => read({ [written]: null, [key]: null }), new RegExp(`the setting ${key} twice`), flag);
    }
  });

  it("switches a setting off if it is a flag that does so", () => {
    assert.equal(read({}).queryKey, true);
    assert.equal(read({ "no-query-key": true }).queryKey, false);
    assert.equal(read({ "--no-query-key": "true" }).queryKey, false);
    assert.equal(read({ "no-query-key": false }).queryKey, true);
    assert.equal(read({ queryKey: false }).queryKey, false);
  });

  it("may occur once in all its spellings, and is named if it is no setting", () => {
    assert.throws(() => read({ pool: 1, "--pool": 2 }), /the file has the setting pool twice/);
    assert.throws(() => read({ wall_limit: "7s" }), /the key "wall_limit", which is not a setting/);
    assert.throws(() => read({ "query-key": true }), /the key "query-key", which is not a setting/);
  });
});

describe("a host with its port", () => {
  const answers: [string, RegExp][] = [
    ["http://db.internal", /"http:\/\/db\.internal" is not host:port; write db\.internal:80$/],
    ["https://api.example/v1", /; write api\.example:443$/],
    ["http://db.internal:5432/x", /; write db\.internal:5432$/],
    ["db.internal", /; write db\.internal:443 for HTTPS$/],
    ["*", /"\*" is not host:port; it takes no star: --egress public allows all public addresses$/],
    ["db:x", /"db:x" is not host:port$/],
  ];
  for (const [input, message] of answers) {
    it(`is suggested for ${input}`, () => {
      assert.throws(() => read({ egressAllow: [input] }), { message });
    });
  }
});
