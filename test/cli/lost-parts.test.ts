import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { examineDataFolder } from "../../src/doctor/data-folder.ts";
import { type Home, makeHome, NO_WALL, startService } from "../contract/service.ts";
import { command } from "./command.ts";

const FLAGS = [...NO_WALL, "--container-limit", "month=9"];

let original: Home;
/** A token that was revoked in the original folder. */
let revoked: string;

before(async () => {
  original = await makeHome();
  const service = await startService(FLAGS, original);
  revoked = await service.issue({ containers: ["kept"] });
  const { jti } = JSON.parse(Buffer.from(revoked.split(".")[1]!, "base64url").toString()) as { jti: string };
  assert.equal((await service.request("DELETE", `/api/tokens/${jti}`)).status, 200);
  await service.run("kept", "1");
  await service.stop();
});
after(() => original[Symbol.asyncDispose]());

async function used(): Promise<Home> {
  const home = await makeHome();
  execFileSync("cp", ["-a", original.data, home.data]);
  return home;
}

async function remove(home: Home, part: string): Promise<void> {
  const endings = part.endsWith(".sqlite") ? ["", "-wal", "-shm"] : [""];
  for (const ending of endings) await rm(path.join(home.data, part + ending), { recursive: true, force: true });
}

/** Returns the error of a start that must fail. */
async function refusal(home: Home): Promise<string> {
  const started = await startService(FLAGS, home).catch((error: Error) => error);
  if (started instanceof Error) return started.message;
  await started.stop();
  throw new Error("the service started");
}

const LOSSES: readonly [part: string, loss: RegExp][] = [
  ["tokens.sqlite", /so revoked tokens would be valid again; restore a backup/],
  ["policies.sqlite", /so suspended containers would run again, without their limits; restore/],
  ["limits", /so counted runs would be forgotten; restore a backup/],
];

describe("a used data folder", () => {
  for (const [part, loss] of LOSSES) {
    it(`without ${part} stops each start, also for the doctor, and serves again with it`, async () => {
      await using home = await used();
      await remove(home, part);
      for (let start = 0; start < 2; start++) {
        const message = await refusal(home);
        assert.match(message, loss);
        assert.ok(message.includes(`${path.join(home.data, part)} was there at an earlier start`), message);
        assert.ok(message.includes(`delete ${path.join(home.data, "parts.json")}`), message);
      }
      const { state, proof } = await examineDataFolder(home.data, null);
      assert.equal(state, "open");
      assert.match(proof, /was there at an earlier start, and is missing or empty now/);
      assert.equal((await examineDataFolder(home.data, null, true)).state, "held");
      execFileSync("cp", ["-a", path.join(original.data, part), path.join(home.data, part)]);
      const service = await startService(FLAGS, home);
      assert.equal((await service.run("kept", "6 * 7", { token: revoked })).status, 403);
      await service.stop();
    });
  }

  it("with an empty token store or no journal stops the start", async () => {
    await using home = await used();
    await remove(home, "tokens.sqlite");
    await writeFile(path.join(home.data, "tokens.sqlite"), "", { mode: 0o600 });
    assert.match(await refusal(home), /tokens\.sqlite was there at an earlier start/);
    execFileSync("cp", ["-a", path.join(original.data, "tokens.sqlite"), path.join(home.data, "tokens.sqlite")]);
    await truncate(path.join(home.data, "limits/journal-1"), 0);
    assert.match(await refusal(home), /limits was there at an earlier start/);
  });

  it("without its token store is refused by a command that would create it", async () => {
    await using home = await used();
    await remove(home, "tokens.sqlite");
    const { code, stderr } = await command(["token", "issue", "--admin", "--data", home.data]);
    assert.equal(code, 1);
    assert.match(stderr, /tokens\.sqlite was there at an earlier start/);
    assert.equal(await stat(path.join(home.data, "tokens.sqlite")).catch(() => null), null);
  });

  it("without its counts is not backed up", async () => {
    await using home = await used();
    await remove(home, "limits");
    const to = `${home.data}.tar`;
    const { code, stderr } = await command(["backup", "--data", home.data, "--to", to]);
    assert.notEqual(code, 0);
    assert.match(stderr, /limits was there at an earlier start/);
    assert.equal(await stat(to).catch(() => null), null);
  });

  it("starts without the part when the record of the parts is deleted, and records it again", async () => {
    await using home = await used();
    await remove(home, "limits");
    await rm(path.join(home.data, "parts.json"));
    const service = await startService(FLAGS, home);
    assert.equal((await service.run("kept", "6 * 7")).text, "42");
    await service.stop();
    const record: unknown = JSON.parse(await readFile(path.join(home.data, "parts.json"), "utf8"));
    assert.deepEqual(record, { version: 1, parts: ["tokens.sqlite", "policies.sqlite", "limits"] });
  });

  it("with a damaged record of the parts is refused with the remedy", async () => {
    await using home = await used();
    await writeFile(path.join(home.data, "parts.json"), "{");
    assert.match(
      await refusal(home),
      /parts\.json is damaged, or a newer release wrote it; check that no file is missing/,
    );
  });
});
