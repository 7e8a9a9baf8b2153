import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmod, readdir, readFile, rename, stat } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { type Home, makeHome, NO_WALL, startService } from "../contract/service.ts";
import { command } from "./command.ts";

let original: Home;
let token: string;

before(async () => {
  original = await makeHome();
  const service = await startService(NO_WALL, original);
  token = await service.issue({ containers: ["kept"], secretsReadable: true, secrets: { KEY: "kept" } });
  await service.stop();
});
after(() => original[Symbol.asyncDispose]());

/** A copy of a folder that a service has issued a token with a secret in. */
async function used(): Promise<Home> {
  const home = await makeHome();
  execFileSync("cp", ["-a", original.data, home.data]);
  return home;
}

/** Returns the error of a start that must fail. */
async function refusal(home: Home): Promise<string> {
  const started = await startService(NO_WALL, home).catch((error: Error) => error);
  if (started instanceof Error) return started.message;
  await started.stop();
  throw new Error("the service started");
}

describe("a secret file of the data folder", () => {
  it("that other users can read is reported with the command that fixes it, with an absolute path", async () => {
    await using home = await used();
    const files = ["keys.json", "secrets.key", "admin.token"].map((name) => path.join(home.data, name));
    for (const file of files) {
      await chmod(file, 0o644);
      const message = await refusal(home);
      assert.ok(message.includes(`run: chmod 600 ${file}`), message);
      await chmod(file, 0o600);
    }
  });
});

describe("a used data folder without its keys.json", () => {
  it("stops the start, keeps the administrative token, and serves again with the file", async () => {
    await using home = await used();
    const [file, admin] = [path.join(home.data, "keys.json"), path.join(home.data, "admin.token")];
    const earlier = await readFile(admin, "utf8");
    await rename(file, `${file}.away`);
    const message = await refusal(home);
    assert.match(message, /keys\.json are missing, and tokens issued so far are signed with them/);
    assert.match(message, /from a backup, or .*: caisson keys make/);
    assert.ok(message.includes(file), message);
    assert.ok(!(await readdir(home.data)).includes("keys.json"));
    assert.equal(await readFile(admin, "utf8"), earlier);
    await rename(`${file}.away`, file);
    const service = await startService(NO_WALL, home);
    assert.equal((await service.run("kept", "6 * 7", { token })).text, "42");
    await service.stop();
  });

  it("gets a new key from keys make, which fails if the file exists", async () => {
    await using home = await used();
    const file = path.join(home.data, "keys.json");
    await rename(file, `${file}.away`);
    const make = ["keys", "make", "--data", home.data, "--port", "1"];
    const made = await command(make);
    assert.equal(made.code, 0, made.stderr);
    const [{ uid }, { uid: owner }] = [await stat(file), await stat(home.data)];
    assert.equal(uid, owner);
    const again = await command(make);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /already exists; keys rotate adds a key/);
    assert.ok((await readFile(file, "utf8")).includes(made.stdout.trim()));
    const service = await startService(NO_WALL, home);
    assert.equal((await service.run("kept", "6 * 7")).text, "42");
    assert.equal((await service.run("kept", "6 * 7", { token })).status, 403);
    await service.stop();
  });
});

describe("a used data folder without its secrets.key", () => {
  it("stops the start, and gets a new key after the database of secrets is moved away", async () => {
    await using home = await used();
    const file = path.join(home.data, "secrets.key");
    await rename(file, `${file}.away`);
    const message = await refusal(home);
    assert.match(message, /secrets\.key is missing, and the stored secrets are encrypted with it/);
    assert.ok(!(await readdir(home.data)).includes("secrets.key"));
    for (const name of await readdir(home.data)) {
      if (name.startsWith("secrets.sqlite"))
        await rename(path.join(home.data, name), path.join(home.data, `old-${name}`));
    }
    const service = await startService(NO_WALL, home);
    assert.equal((await service.run("kept", "6 * 7", { token })).text, "42");
    await service.stop();
  });
});
