import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";

import { caisson, type Home, leave, makeHome, type Service, startService } from "./service.ts";

let home: Home;
let service: Service;

before(async () => {
  home = await makeHome();
  service = await startService([], home);
});
after(() => leave(service, home));

describe("a start", () => {
  it("prints the address, the isolation level and the path of the token, and never the token", () => {
    const output = service.stdout();
    assert.ok(output.includes(service.url));
    assert.match(output, /isolation.*namespaces/i);
    assert.ok(output.includes(`${service.data}/admin.token`));
    assert.ok(!(output + service.stderr()).includes(service.admin));
  });

  it("logs that the data folder is new, which after an upgrade is a wrong --data", async () => {
    await service.logLine((line) => line.includes(`"folder":"${service.data}","msg":"data folder created"`));
  });

  it("ends with a curl line that prints 42 from any folder", async () => {
    const line = service.stdout().trimEnd().split("\n").at(-1)!;
    assert.match(line, /^curl /);
    const { stdout, stderr } = await promisify(execFile)("sh", ["-c", line], { cwd: "/" });
    assert.equal(`${stdout}${stderr}`.trim(), "42");
  });
});

describe("a start with invalid settings", () => {
  const wrong: [string[], RegExp[]][] = [
    [["--port", "none"], [/port/]],
    [["--port", "70000"], [/port/]],
    [
      ["--wall-limit", "30"],
      [/wall-limit/, /unit|30s|duration/],
    ],
    [["--memory-limit", "256"], [/memory-limit/]],
    [["--container-limit", "minutes=5"], [/container-limit/]],
    [["--container-limit", "minute=0"], [/container-limit/]],
    [["--host", "0.0.0.0"], [/tls|insecure-http|trust-proxy/]],
    [["--isolation", "wishful"], [/isolation/]],
    [["--no-such-flag"], [/no-such-flag/]],
    [
      ["--wall-limit", "soon", "--block-limit", "later"],
      [/wall-limit/, /block-limit/],
    ],
  ];
  for (const [flags, expected] of wrong) {
    it(`names the fault and ends: ${flags.join(" ")}`, async () => {
      await using other = await makeHome();
      const child = caisson(other, "serve", "--port", "0", ...flags);
      let output = "";
      child.stdout!.on("data", (text: Buffer) => (output += text.toString()));
      child.stderr!.on("data", (text: Buffer) => (output += text.toString()));
      const [code] = (await once(child, "close")) as [number | null];
      assert.ok(code !== 0 && code !== null, output);
      for (const pattern of expected) assert.match(output, pattern);
      assert.doesNotMatch(output, /\n\s+at |^curl /m);
    });
  }

  it("names the port if another service listens on it", async () => {
    await using other = await makeHome();
    const child = caisson(other, "serve", "--port", `${service.port}`);
    let errors = "";
    child.stderr!.on("data", (text: Buffer) => (errors += text.toString()));
    const [code] = (await once(child, "close")) as [number | null];
    assert.ok(code !== 0 && code !== null);
    assert.ok(errors.includes(`${service.port}`), errors);
    assert.doesNotMatch(errors, /\n\s+at /);
    assert.equal((await service.run("first", "6 * 7")).text, "42");
  });
});
