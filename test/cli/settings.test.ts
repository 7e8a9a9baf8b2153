import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, it, type TestContext } from "node:test";

import { SETTINGS } from "../../src/config.ts";
import { variableName } from "../../src/config/read.ts";
import { VERSION } from "../../src/http/headers.ts";
import { hostedCommand } from "./hosted-command.ts";

async function configFile(t: TestContext, content: string): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-cli-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = path.join(folder, "caisson.json");
  await writeFile(file, content);
  return file;
}

describe("serve --help", () => {
  it("lists every setting with its variable and purpose, and the defaults with their units", async () => {
    const { code, stdout } = await hostedCommand(["serve", "--help"]);
    assert.equal(code, 0);
    const help = stdout.replaceAll(/\s+/g, " ");
    for (const [key, { flag, help: purpose }] of Object.entries(SETTINGS)) {
      const at = help.indexOf(` ${flag} `);
      assert.ok(at >= 0, `${flag} is not listed`);
      const line = help.slice(at, at + flag.length + purpose.length + 120);
      assert.ok(line.includes(purpose), `${flag} does not have the text: ${purpose}`);
      assert.ok(new RegExp(`\\b${variableName(key)}\\)`).test(line), `${variableName(key)} is missing at ${flag}`);
    }
    for (const part of ["--config", "default: 30s;", "default: 256MiB;", "default: 7070;", "CAISSON_CONFIG"]) {
      assert.ok(help.includes(part), `${part} is not in the help`);
    }
  });
});

describe("the help of a setting with a list of values", () => {
  it("names all values", () => {
    for (const { flag, help, read } of Object.values(SETTINGS)) {
      const values = flag.includes(" ") ? choicesOf(read) : [];
      for (const value of values) assert.match(`${flag} ${help}`, new RegExp(`\\b${value}\\b`), flag);
    }
    assert.deepEqual(choicesOf(SETTINGS.egress.read), ["none", "public"]);
  });
});

describe("invalid settings", () => {
  it("end the command with exit code 2 and are all reported with their source", async (t) => {
    const file = await configFile(t, JSON.stringify({ pool: "many", wall_limit: "30s", cpuLimit: 0 }));
    const flags = ["--wall-limit", "30", "--container-limit", "minutes=5", "--port", "70000"];
    const { code, stdout, stderr } = await hostedCommand(["serve", "--config", file, ...flags], {
      CAISSON_MEMORY_LIMIT: "256",
      CAISSON_BLOCK_LIMIT: "1ms",
    });
    assert.equal(code, 2);
    assert.equal(stdout, "");
    const lines = stderr.trimEnd().split("\n");
    const sources = [
      "--wall-limit",
      "--container-limit",
      "--port",
      "CAISSON_MEMORY_LIMIT",
      "CAISSON_BLOCK_LIMIT",
      "pool in the file",
      "cpuLimit in the file",
      '"wall_limit"',
    ];
    assert.equal(lines.length, sources.length, stderr);
    for (const source of sources) {
      assert.equal(lines.filter((line) => line.includes(source)).length, 1, `${source} in ${stderr}`);
    }
    for (const line of lines) assert.match(line, /^caisson: /);
  });

  it("end the command with exit code 2 if they contradict each other", async () => {
    const { code, stderr } = await hostedCommand(["serve", "--host", "0.0.0.0", "--tls-cert", "cert.pem"]);
    assert.equal(code, 2);
    assert.match(stderr, /--tls-cert and --tls-key must be set together/);
  });

  for (const content of ["{", "[]", "null", '"text"']) {
    it(`end the command with exit code 2 if the file contains ${content}`, async (t) => {
      const file = await configFile(t, content);
      const { code, stderr } = await hostedCommand(["serve", "--config", file]);
      assert.equal(code, 2);
      assert.match(stderr, /^caisson: --config .*caisson\.json cannot be read/);
      assert.equal(stderr.trimEnd().split("\n").length, 1);
    });
  }

  it("end the command with exit code 2 if the file is absent, also if a variable names it", async () => {
    const { code, stderr } = await hostedCommand(["serve"], { CAISSON_CONFIG: "/nowhere/caisson.json" });
    assert.equal(code, 2);
    assert.match(stderr, /\/nowhere\/caisson\.json cannot be read/);
  });
});

describe("the command line", () => {
  it("prints its version", async () => {
    assert.deepEqual(await hostedCommand(["--version"]), { code: 0, stdout: `${VERSION}\n`, stderr: "" });
  });

  it("rejects an unknown command and an unknown flag with exit code 2, and names them", async () => {
    for (const args of [["serv"], ["serve", "--prot", "1"], ["token", "isue"]]) {
      const { code, stdout, stderr } = await hostedCommand(args);
      assert.equal(code, 2);
      assert.equal(stdout, "");
      assert.match(stderr, new RegExp(`^caisson: .*${args[1] ?? args[0]!}`));
    }
  });
});

/** Returns the values of a setting from the error for an unknown value. */
function choicesOf(read: (texts: readonly string[]) => unknown): string[] {
  try {
    read(["?"]);
    return [];
  } catch (error) {
    const list = /^"\?" is not one of (.+)$/.exec((error as Error).message)?.[1];
    return list?.split(", ") ?? [];
  }
}
