import assert from "node:assert/strict";
import { chmod, chown, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { assertProblem } from "../contract/problem.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "../contract/service.ts";
import { until } from "../contract/until.ts";
import { command, type Ended } from "./command.ts";

let home: Home;
let service: Service;
const LASTING = `console.log("has begun"); await new Promise(() => setInterval(() => {}, 1_000));`;

before(async () => {
  home = await makeHome();
  service = await startService([...NO_WALL, "--kill-revoked", "--log-level", "debug"], home);
});
after(() => leave(service, home));

function keys(...args: string[]): Promise<Ended> {
  return command(["keys", ...args, "--port", String(service.port), "--data", home.data]);
}

interface Listed {
  kid: string;
  state: string;
  made: string | null;
  signsFrom: string | null;
}

async function listed(): Promise<Listed[]> {
  const { code, stdout } = await keys("list", "--json");
  assert.equal(code, 0);
  return JSON.parse(stdout) as Listed[];
}

async function published(): Promise<string[]> {
  const answer = await service.request("GET", "/.well-known/jwks.json", { token: null });
  return (answer.json() as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
}

/** Returns the administrative token that is in the data folder now. */
async function admin(): Promise<string> {
  return (await readFile(path.join(home.data, "admin.token"), "utf8")).trim();
}

async function issue(container: string): Promise<string> {
  const json = { containers: [container] };
  const answer = await service.request("POST", "/api/tokens", { token: await admin(), json });
  assert.equal(answer.status, 201, answer.text);
  return (answer.json() as { token: string }).token;
}

function kidOf(token: string): string {
  return (JSON.parse(Buffer.from(token.split(".")[0]!, "base64url").toString()) as { kid: string }).kid;
}

describe("keys rotate", () => {
  it("creates a key with which the running service signs, and earlier tokens stay valid", async () => {
    const old = await issue("kept");
    const { code, stdout, stderr } = await keys("rotate");
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^caisson: the service at port \d+ of 127\.0\.0\.1 has loaded the change\n$/);
    const next = await issue("kept");
    assert.equal(kidOf(next), stdout.trim());
    assert.notEqual(kidOf(old), kidOf(next));
    for (const token of [old, next, service.admin]) {
      assert.equal((await service.run("kept", "6 * 7", { token })).text, "42");
    }
    assert.deepEqual(await published(), [kidOf(next), kidOf(old)]);
    assert.deepEqual(
      (await listed()).map(({ kid, state }) => [kid, state]),
      [
        [kidOf(next), "signs"],
        [kidOf(old), "verifies"],
      ],
    );
    await service.logLine((line) => line.includes("the signing keys have changed") && line.includes(kidOf(next)));
  });

  it("with --after publishes a key before it signs", async () => {
    const [signs] = await listed();
    const { stdout } = await keys("rotate", "--after", "1h", "--json");
    const { kid: waiting } = JSON.parse(stdout) as { kid: string };
    assert.equal((await published())[0], waiting);
    assert.equal(kidOf(await issue("kept")), signs!.kid);
    const [first] = await listed();
    assert.deepEqual([first!.kid, first!.state], [waiting, "waits"]);
    assert.ok(Date.parse(first!.signsFrom!) >= Date.now() + 3_500_000);
    const { stdout: table } = await keys("list");
    assert.match(table, new RegExp(`^${waiting}  \\S+Z  signs from ${first!.signsFrom} on\n${signs!.kid} .* signs\n`));
    const { stdout: gone } = await keys("revoke", waiting, "--json");
    assert.deepEqual(JSON.parse(gone), { kid: null, revoked: waiting });
  });

  it("loses no key if several commands run at the same time", async () => {
    const earlier = await listed();
    const all = await Promise.all([keys("rotate"), keys("rotate"), keys("rotate")]);
    const made = all.map(({ code, stdout, stderr }) => {
      assert.equal(code, 0, stderr);
      return stdout.trim();
    });
    const now = (await listed()).map(({ kid }) => kid);
    assert.deepEqual(now.toSorted(), [...earlier.map(({ kid }) => kid), ...made].toSorted());
  });
});

describe("keys that nodes share", () => {
  it("are loaded by each node, and with --after before a node signs with the new key", async () => {
    const home2 = await makeHome();
    const other = await startService([...NO_WALL, "--keys", path.join(home.data, "keys.json")], home2);
    const kids = async (): Promise<string[]> => {
      const answer = await other.request("GET", "/.well-known/jwks.json");
      return (answer.json() as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
    };
    try {
      const { code, stdout } = await keys("rotate", "--after", "3s");
      assert.equal(code, 0);
      await until(async () => (await kids())[0] === stdout.trim(), "the other node has the new key");
      await until(async () => kidOf(await issue("both")) === stdout.trim(), "the new key signs on the first node");
      assert.equal((await other.run("both", "6 * 7", { token: await issue("both") })).text, "42");
      const gone = kidOf(other.admin);
      assert.equal((await keys("revoke", gone)).code, 0);
      await until(async () => !(await kids()).includes(gone), "the other node has removed the old key");
      assertProblem(await other.request("GET", "/api/tokens"), 403, "token_invalid");
    } finally {
      await leave(other, home2);
    }
  });
});

describe("keys revoke", () => {
  it("ends the tokens of the key at once, with their runs in flight, and no other tokens", async () => {
    const [old, { stdout }] = [await issue("revoked"), await keys("rotate")];
    const next = await issue("revoked");
    const answers = [service.run("revoked", "6 * 7", { token: old }), service.run("revoked", "6 * 7", { token: next })];
    for (const answer of await Promise.all(answers)) assert.equal(answer.text, "42");
    const inFlight = service.run("revoked", LASTING, { token: old });
    await service.logLine((line) => line.includes('"revoked"') && line.includes("has begun"));
    const { code, stderr, stdout: made } = await keys("revoke", kidOf(old));
    assert.deepEqual([code, made], [0, ""], stderr);
    const { detail } = assertProblem(await service.run("revoked", "1", { token: old }), 403, "token_invalid");
    assert.match(detail, /signed with a key that this service does not hold/);
    assert.match(assertProblem(await inFlight, 403, "token_invalid").detail, /the key .* was revoked/);
    assert.equal((await service.run("revoked", "6 * 7", { token: next })).text, "42");
    assert.equal(kidOf(next), stdout.trim());
    assert.ok(!(await published()).includes(kidOf(old)));
  });

  it("ends the tokens below the tokens of the key that a newer key signed, and tasks, and their runs", async () => {
    const by = { token: await admin() };
    const json = { containers: ["line"], can: ["run", "tasks", "issue"], depth: 1 };
    const head = (await service.request("POST", "/api/tokens", { ...by, json })).json() as { token: string };
    const task = { token: head.token, json: { code: LASTING, public: true } };
    assert.equal((await service.request("PUT", "/api/tasks/line/task", task)).status, 201);
    assert.equal((await keys("rotate")).code, 0);
    const issued = { token: head.token, json: { containers: ["line"] } };
    const child = (await service.request("POST", "/api/tokens", issued)).json() as { token: string };
    assert.notEqual(kidOf(child.token), kidOf(head.token));
    assert.equal((await service.run("line", "6 * 7", { token: child.token })).text, "42");
    const inFlight = service.request("GET", "/api/run/line/task", { token: null });
    await service.logLine((line) => line.includes('"line"') && line.includes("has begun"));
    assert.equal((await keys("revoke", kidOf(head.token))).code, 0);
    assert.match(assertProblem(await inFlight, 403, "token_invalid").detail, /the key .* was revoked/);
    for (const answer of [
      await service.run("line", "1", { token: child.token }),
      await service.request("GET", "/api/run/line/task", { token: null }),
    ]) {
      assert.match(assertProblem(answer, 403, "token_invalid").detail, /descends from is signed with a key/);
    }
  });

  it("creates a key if the signing key is revoked, and a new token in the data folder", async () => {
    for (const { kid } of (await listed()).slice(1)) {
      const { code, stderr } = await keys("revoke", kid);
      assert.equal(code, 0, stderr);
    }
    await until(async () => (await published()).includes(kidOf(await admin())), "a new token is in the folder");
    const stolen = await admin();
    const { code, stdout } = await keys("revoke", kidOf(stolen));
    assert.equal(code, 0);
    assertProblem(await service.request("GET", "/api/tokens", { token: stolen }), 403, "token_invalid");
    await until(async () => kidOf(await admin()) === stdout.trim(), "a new token is in the folder");
    assert.equal((await service.request("GET", "/api/tokens", { token: await admin() })).status, 200);
    assert.deepEqual(await published(), [stdout.trim()]);
  });

  it("reports an unknown key", async () => {
    const { code, stderr } = await keys("revoke", "unknown");
    assert.equal(code, 1);
    assert.match(stderr, /contains no key "unknown"; keys list shows the names/);
  });
});

describe("the file of the keys", () => {
  it("does not replace the loaded keys while it is damaged, which is logged once, and is loaded after it is restored", async () => {
    const file = path.join(home.data, "keys.json");
    const [text, token, start] = [await readFile(file, "utf8"), await issue("damaged"), service.stderr().length];
    const logged = (): string[] => {
      const lines = service.stderr().slice(start).split("\n");
      return lines.filter((line) => line.includes("the keys in force stay"));
    };
    await writeFile(file, "{");
    await until(() => logged().length === 1, "it is logged");
    assert.ok(!logged()[0]!.includes(JSON.parse(text).keys[0].d));
    assert.equal((await service.run("damaged", "6 * 7", { token })).text, "42");
    const { code, stderr } = await keys("rotate");
    assert.equal(code, 1);
    assert.match(stderr, /it is not JSON; restore the file from a backup/);
    await writeFile(file, text);
    assert.equal((await keys("rotate")).code, 0);
    assert.equal(logged().length, 1);
  });

  it("is loaded at the next start if no service runs", async () => {
    const alone = await makeHome();
    const { stderr, code } = await command(["keys", "rotate", "--data", alone.data]);
    assert.equal(code, 1);
    assert.match(stderr, /there are no signing keys at .*keys\.json; start the service once/);
    await mkdir(alone.data, { mode: 0o700 });
    await writeFile(path.join(alone.data, "keys.json"), await readFile(path.join(home.data, "keys.json")), {
      mode: 0o600,
    });
    // No program listens on port 1.
    const rotated = await command(["keys", "rotate", "--data", alone.data, "--port", "1"]);
    assert.equal(rotated.code, 0);
    assert.match(
      rotated.stderr,
      /no service answers at port 1 of 127\.0\.0\.1; a service that starts loads these keys/,
    );
    await alone[Symbol.asyncDispose]();
  });

  it("keeps its owner if root rotates", { skip: process.getuid!() !== 0 && "needs root" }, async () => {
    const alone = await makeHome();
    await mkdir(alone.data, { mode: 0o700 });
    const file = path.join(alone.data, "keys.json");
    await writeFile(file, await readFile(path.join(home.data, "keys.json")), { mode: 0o600 });
    for (const name of [alone.data, file]) await chown(name, 4_242, 4_242);
    await chmod(alone.data, 0o700);
    const { code, stderr } = await command(["keys", "rotate", "--data", alone.data, "--port", "1"]);
    assert.equal(code, 0, stderr);
    for (const name of [file, `${file}.lock`]) {
      const { uid, mode } = await stat(name);
      assert.deepEqual([uid, mode & 0o777], [4_242, 0o600]);
    }
    await alone[Symbol.asyncDispose]();
  });

  it(
    "is changed by root below a folder that only root may enter",
    { skip: process.getuid!() !== 0 && "needs root" },
    async () => {
      const alone = await makeHome();
      const file = path.join(alone.data, "keys.json");
      await mkdir(alone.data, { mode: 0o700, recursive: true });
      await writeFile(file, await readFile(path.join(home.data, "keys.json")), { mode: 0o600 });
      for (const name of [alone.data, file]) await chown(name, 4_242, 4_242);
      const above = path.dirname(alone.data);
      await chown(above, 0, 0);
      await chmod(above, 0o700);
      for (const args of [["rotate"], ["revoke", "x".repeat(43)]]) {
        const { stderr } = await command(["keys", ...args, "--data", alone.data, "--port", "1"]);
        assert.doesNotMatch(stderr, /open database/, args[0]);
      }
      assert.equal((JSON.parse(await readFile(file, "utf8")) as { keys: unknown[] }).keys.length > 1, true);
      assert.equal((await stat(`${file}.lock`)).uid, 4_242);
      await alone[Symbol.asyncDispose]();
    },
  );
});
