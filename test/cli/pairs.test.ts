import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { hostedCommand } from "./hosted-command.ts";

const JTI = "9b2f7c1e-4a1d-4f6e-8a55-1f0f6d3e5a55";

describe("a command that takes KEY=VALUE and gets the words apart names the pair", () => {
  const rows: readonly [words: string, said: RegExp][] = [
    ["limits set acme minute 10", /; did you mean caisson limits set container acme minute=10\?$/m],
    ["limits set acme minute=10", /; did you mean caisson limits set container acme minute=10\?$/m],
    ["limits set container acme minute 10", /; did you mean caisson limits set container acme minute=10\?$/m],
    [
      "limits set container acme minute 10 day 500",
      /did you mean caisson limits set container acme minute=10 day=500\?/,
    ],
    ["limits set container acme minute:10", /did you mean caisson limits set container acme minute=10\?/],
    ["limits set container acme 10/minute", /did you mean caisson limits set container acme minute=10\?/],
    ["limits set container acme minute = 10", /did you mean caisson limits set container acme minute=10\?/],
    [
      "limits set container acme minute=10,day=500",
      /did you mean caisson limits set container acme minute=10 day=500\?/,
    ],
    ["limits set container acme minutes=10", /did you mean caisson limits set container acme minute=10\?/],
    ["limits set container acme minute=0", /from 1 to 1000000000; --none removes all limits/],
    ["limits set container acme 10", /"10" is not window=runs, such as minute=60; --none removes all limits/],
    ["limits set container acme --minute 10", /did you mean caisson limits set container acme minute=10\?/],
    ["limits show acme", /; did you mean caisson limits show container acme\?$/m],
    [`limits show ${JTI}`, /; did you mean caisson limits show token 9b2f7c1e-/],
    ["limits show containers acme", /; did you mean caisson limits show container acme\?$/m],
    ["tokens issue acme --param PLAN pro", /--param "PLAN" is not key=value; did you mean --param PLAN=pro\?/],
    ["tokens issue acme --param PLAN:pro", /--param "PLAN:pro" is not key=value; did you mean --param PLAN=pro\?/],
    ["tokens issue acme --label team platform", /did you mean --label team=platform\?/],
    ["tokens issue acme --limit minute=5", /not "minute=5"; did you mean --limit container\.minute=5\?/],
    ["tokens issue acme --limit container.minute 5", /did you mean --limit container\.minute=5\?/],
    ["tokens issue acme --limit token.minute:5", /did you mean --limit token\.minute=5\?/],
    ["tokens list --label team platform", /too many arguments .*; did you mean --label team=platform\?/],
    ["tasks deploy acme README.md --param PLAN pro", /too many arguments .*; did you mean --param PLAN=pro\?/],
    ["run README.md --query a 6", /; did you mean --query a=6\?/],
    ["serve --container-limit minute 10", /too many arguments .*; did you mean --container-limit minute=10\?/],
    ["serve --container-limit minute:10", /is not window=runs, such as "minute=60"; did you mean minute=10\?/],
  ];
  for (const [words, said] of rows) {
    it(words, async () => {
      const { code, stderr } = await hostedCommand(words.split(" "));
      assert.equal(code, 2, stderr);
      assert.match(stderr, said);
    });
  }

  it("does not print the value of a secret", async () => {
    const { code, stderr } = await hostedCommand(["tasks", "deploy", "acme", "README.md", "--secret", "KEY", "hidden"]);
    assert.equal(code, 2);
    assert.doesNotMatch(stderr, /KEY=hidden/);
  });
});
