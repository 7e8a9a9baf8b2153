import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";

import { type Home, leave, makeHome, type Service, startService } from "./service.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const END = "@end of a command@";
/** The parts that vary between answers: omitted parts, ids of runs, times, the start of a guest. */
const VARYING = /\.{3}|[\da-f]{12}-\d+|(?<=dur=)[\d.]+|(?<=desc=")\w+|(?<="retryAfter(?:Ms)?":)\d+|\d+(?= s",)/;

interface Example {
  readonly command: string;
  readonly answer: string;
}

for (const [page, least] of [
  ["README.md", 3],
  ["docs/getting-started.md", 6],
] as const) {
  describe(page, () => {
    let home: Home;
    let service: Service;
    before(async () => {
      home = await makeHome();
      service = await startService([], home);
    });
    after(() => leave(service, home));

    it("prints the answers to its commands, in their order", async () => {
      const examples = examplesOf(await readFile(path.join(ROOT, page), "utf8"));
      assert.ok(examples.length >= least, `the page has ${examples.length} commands`);

      const script = examples.map(({ command }) => `${command}\nprintf '\\n${END}\\n'\n`).join("");
      const here = script
        .replaceAll("127.0.0.1:7070", `127.0.0.1:${service.port}`)
        .replaceAll("data/admin.token", `${service.data}/admin.token`);
      const { stdout, stderr } = await promisify(execFile)("sh", ["-c", here]);

      assert.equal(stderr, "");
      const answers = stdout.replaceAll("\r", "").split(`\n${END}\n`);
      for (const [at, { command, answer }] of examples.entries()) {
        assert.match(answers[at]!.trim(), expected(answer), command);
      }
    });
  });
}

/** Returns the commands in the page's `console` blocks, each with the lines below it. */
function examplesOf(page: string): Example[] {
  const blocks = [...page.matchAll(/^```console\n(.*?)^```$/gms)].map(([, block]) => block!);
  return blocks.flatMap((block) => {
    const parts = block.split(/^\$ /m).filter((part) => part !== "");
    return parts.map((part) => {
      const [command] = /^(?:.*\\\n)*.*\n/.exec(part)!;
      return { command: command.trim(), answer: part.slice(command.length).trim() };
    });
  });
}

function expected(answer: string): RegExp {
  const fixed = answer.split(VARYING).map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`));
  return new RegExp(`^${fixed.join(String.raw`[\s\S]*?`)}$`);
}
