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
  it("says the address, the isolation, where the token is, and never the token", () => {
    const said = service.stdout();
    assert.ok(said.includes(service.url));
    assert.match(said, /isolation.*namespaces/i);
    assert.ok(said.includes(`${service.data}/admin.token`));
    assert.ok(!(said + service.stderr()).includes(service.admin));
  });

  it("ends with a curl line that prints 42 as it stands, from any folder", async () => {
    const line = service.stdout().trimEnd().split("\n").at(-1)!;
    assert.match(line, /^curl /);
    const { stdout, stderr } = await promisify(execFile)("sh", ["-c", line], { cwd: "/" });
    assert.equal(`${stdout}${stderr}`.trim(), "42");
  });
});

describe("a start that cannot be", () => {
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
    it(`names what is wrong and ends: ${flags.join(" ")}`, async () => {
      await using other = await makeHome();
      const child = caisson(other, "serve", "--port", "0", ...flags);
      let said = "";
      child.stdout!.on("data", (text: Buffer) => (said += text.toString()));
      child.stderr!.on("data", (text: Buffer) => (said += text.toString()));
      const [code] = (await once(child, "close")) as [number | null];
      assert.ok(code !== 0 && code !== null, said);
      for (const pattern of expected) assert.match(said, pattern);
      assert.doesNotMatch(said, /\n\s+at |^curl /m);
    });
  }

  it("names the port that another listens on", async () => {
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
