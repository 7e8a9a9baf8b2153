import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { withHelpFlag } from "../../src/cli/help-words.ts";
import { program } from "../../src/cli/program.ts";
import { hostedCommand } from "./hosted-command.ts";

describe("help of a command that does not exist names the command that was meant", () => {
  const rows: readonly [words: string, said: RegExp][] = [
    ["help srve", /unknown command 'srve'[^]*did you mean serve\?/i],
    ["help tasks depoly", /unknown command 'depoly'[^]*did you mean deploy\?/i],
    ["tasks help depoly", /unknown command 'depoly'[^]*did you mean deploy\?/i],
    ["help depoly", /unknown command 'depoly'[^]*did you mean deploy\?/i],
    ["srve --help", /unknown command 'srve'[^]*did you mean serve\?/i],
    ["tokens isue -h", /unknown command 'isue'[^]*did you mean issue\?/i],
    ["help ps", /unknown command 'ps'; caisson runs list/],
    ["help tokens create", /unknown command 'create'; did you mean issue\?/],
  ];
  for (const [words, said] of rows) {
    it(words, async () => {
      const { code, stdout, stderr } = await hostedCommand(words.split(" "));
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, said);
    });
  }

  it("prints the help of a command below another one", async () => {
    const [short, flag] = await Promise.all([
      hostedCommand(["help", "tasks", "deploy"]),
      hostedCommand(["tasks", "deploy", "--help"]),
    ]);
    assert.equal(short.code, 0);
    assert.match(short.stdout, /Usage: caisson tasks deploy /);
    assert.deepEqual(short, flag);
  });
});

describe("the words of a command line that asks for help", () => {
  const rows: readonly [words: string, becomes: string][] = [
    ["help", "--help"],
    ["help run", "run --help"],
    ["help help", "--help"],
    ["tasks help", "tasks --help"],
    ["tasks help deploy", "tasks deploy --help"],
    ["help task deploy acme", "task deploy --help"],
    ["run help", "run help"],
    ["run task.ts -- --help", "run task.ts -- --help"],
    ["tasks list help", "tasks list help"],
    ["--version", "--version"],
    ["", ""],
  ];
  for (const [words, becomes] of rows) {
    it(`${words} becomes ${becomes}`, () => {
      assert.equal(withHelpFlag(program(), words.split(" ").filter(Boolean)).join(" "), becomes);
    });
  }
});
