import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Command } from "commander";

import { EXAMPLES } from "../../src/cli/examples.ts";
import { printable, printableJson } from "../../src/cli/print/printable.ts";
import { fields, table } from "../../src/cli/print/table.ts";
import { program } from "../../src/cli/program.ts";
import { program as serveProgram } from "../../src/cli/serve-program.ts";

/** Commands that work on files of this machine, or on profiles, and not on a service. */
const LOCAL: ReadonlySet<string> = new Set([
  ...["serve", "doctor", "keys list", "keys make", "keys rotate", "keys revoke", "limits repair"],
  ...["init", "login", "logout", "backup", "restore"],
]);

interface Verb {
  readonly path: string;
  readonly command: Command;
}

const verbs = verbsOf(program(), []);

function verbsOf(command: Command, path: readonly string[]): Verb[] {
  if (command.commands.length === 0) return [{ path: path.join(" "), command }];
  return command.commands.flatMap((each) => verbsOf(each, [...path, each.name()]));
}

describe("the help of every command", () => {
  it("begins with examples, which the command accepts", async () => {
    for (const { path, command } of verbs) {
      const examples = EXAMPLES.get(command) ?? [];
      assert.ok(examples.length > 0, `${path} has no examples`);
      assert.match(helpOf(command), new RegExp(`^Examples:\n  caisson ${path}\\b`), path);
      for (const example of examples) assert.equal(await parse(example), path, example);
    }
  });

  it("is the same for the service, which is started without the other commands", () => {
    const [alone, ...others] = serveProgram().commands;
    assert.deepEqual(others, []);
    assert.equal(helpOf(alone!), helpOf(program().commands.find((command) => command.name() === "serve")!));
  });

  it("ends with the exit codes", () => {
    for (const { path, command } of verbs) assert.match(helpOf(command), /\nExit codes: 0 ok; 1 .*\n.*\n$/, path);
  });

  it("has the flags for the service and --json, if the command talks to a service", () => {
    for (const { path, command } of verbs.filter((each) => !LOCAL.has(each.path))) {
      const flags = command.options.map(({ long }) => long);
      // The output of mcp is JSON in any case.
      const expected = ["--url", "--profile", ...(path === "mcp" ? [] : ["--json"])];
      for (const flag of expected) assert.ok(flags.includes(flag), `${path} has no ${flag}`);
    }
  });

  it("puts the settings of serve into groups", () => {
    const serve = verbs.find(({ path }) => path === "serve")!.command;
    const groups = [...helpOf(serve).matchAll(/^([A-Z][\w ,]+):$/gm)].map(([, title]) => title);
    for (const title of ["Listening and TLS", "Sandbox", "Rate limits", "Records of runs", "Several nodes"])
      assert.ok(groups.includes(title), `${title} is missing: ${groups.join(", ")}`);
  });
});

/** Returns the whole help, with the texts before and after it. */
function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  return text;
}

/** Parses a command line as a shell with simple quotes does. @returns the command that would be executed */
async function parse(example: string): Promise<string | null> {
  let executed: string | null = null;
  const caisson = program();
  for (const { path, command } of verbsOf(caisson, [])) {
    command.exitOverride((error) => {
      throw error;
    });
    command.action(() => void (executed = path));
  }
  const words = example.replace(/ [<>] \S+$/, "").match(/'[^']*'|"[^"]*"|\S+/g)!;
  await caisson.parseAsync(
    words.map((word) => word.replace(/^(['"])(.*)\1$/, "$2")),
    { from: "user" },
  );
  return executed;
}

describe("a text for a terminal", () => {
  it("has escapes for characters that act on it, and no other escapes", () => {
    assert.equal(printable("a\u001b[2J\u009b\u202eb\ud800\tc é 漢 👍"), "a\\u001b[2J\\u009b\\u202eb\\ud800\tc é 漢 👍");
    const value = { a: "\u001b\u009b\u202e\u2028", b: [1] };
    const json = printableJson(value);
    for (const character of value.a) assert.ok(!json.includes(character));
    assert.deepEqual(JSON.parse(json), value);
  });
});

describe("a table", () => {
  it("is aligned, and wraps its last column at 80 columns without cutting anything", () => {
    const words = Array.from({ length: 20 }, (_, at) => `word${at}`).join(" ");
    const columns = [{ head: "name" }, { head: "runs", align: "right" }, { head: "details" }] as const;
    const text = table(columns, [
      ["acme", "12", words],
      ["b\u001b[0m\n", "3", "short"],
    ]);
    const lines = text.trimEnd().split("\n");
    assert.equal(lines[0], "name              runs  details");
    assert.ok(
      lines.every((line) => line.length <= 80),
      text,
    );
    assert.equal(lines.at(-1), "b\\u001b[0m\\u000a     3  short");
    assert.equal(lines.slice(1, -1).join(" ").replaceAll(/\s+/g, " "), `acme 12 ${words}`);
    const long = "x".repeat(100);
    assert.ok(table([{ head: "token" }, { head: "why" }], [[long, long]]).includes(`${long}  ${long}`));
    assert.equal(
      fields([
        ["a", "1"],
        ["long", null],
        ["bcd", "2"],
      ]),
      "a    1\nbcd  2\n",
    );
  });
});
