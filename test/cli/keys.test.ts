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

function keys(...words: string[]): Promise<Ended> {
  return command(["keys", ...words, "--port", String(service.port), "--data", home.data]);
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

/** The text of the administrative token that lies in the data folder now. */
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
  it("makes a key that the running service signs with, and ends no token", async () => {
    const old = await issue("kept");
    const { code, stdout, stderr } = await keys("rotate");
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^caisson: the service at port \d+ of 127\.0\.0\.1 has taken the change\n$/);
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
    const { stdout } = await keys("rotate", "--after", "1h");
    const waiting = stdout.trim();
    assert.equal((await published())[0], waiting);
    assert.equal(kidOf(await issue("kept")), signs!.kid);
    const [first] = await listed();
    assert.deepEqual([first!.kid, first!.state], [waiting, "waits"]);
    assert.ok(Date.parse(first!.signsFrom!) >= Date.now() + 3_500_000);
    const { stdout: table } = await keys("list");
    assert.match(table, new RegExp(`^${waiting}  \\S+Z  signs from ${first!.signsFrom} on\n${signs!.kid} .* signs\n`));
    assert.equal((await keys("revoke", waiting)).code, 0);
  });

  it("at the same time by several loses no key", async () => {
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
  it("are taken by each of them, and by --after before any signs with the new one", async () => {
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
      await until(async () => kidOf(await issue("both")) === stdout.trim(), "it signs on the first");
      assert.equal((await other.run("both", "6 * 7", { token: await issue("both") })).text, "42");
      const gone = kidOf(other.admin);
      assert.equal((await keys("revoke", gone)).code, 0);
      await until(async () => !(await kids()).includes(gone), "the other node has let the old key go");
      assertProblem(await other.request("GET", "/api/tokens"), 403, "token_invalid");
    } finally {
      await leave(other, home2);
    }
  });
});

describe("keys revoke", () => {
  it("ends what the key has signed, at once, also a run in flight, and nothing else", async () => {
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

  it("ends what is below the tokens of the key: tokens that a newer key has signed, tasks, and their runs", async () => {
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

  it("makes a key where the one that signs is revoked, and the folder's token is good again", async () => {
    for (const { kid } of (await listed()).slice(1)) {
      const { code, stderr } = await keys("revoke", kid);
      assert.equal(code, 0, stderr);
    }
    await until(async () => (await published()).includes(kidOf(await admin())), "a new token lies in the folder");
    const stolen = await admin();
    const { code, stdout } = await keys("revoke", kidOf(stolen));
    assert.equal(code, 0);
    assertProblem(await service.request("GET", "/api/tokens", { token: stolen }), 403, "token_invalid");
    await until(async () => kidOf(await admin()) === stdout.trim(), "a new token lies in the folder");
    assert.equal((await service.request("GET", "/api/tokens", { token: await admin() })).status, 200);
    assert.deepEqual(await published(), [stdout.trim()]);
  });

  it("says when there is no such key", async () => {
    const { code, stderr } = await keys("revoke", "nobody's");
    assert.equal(code, 1);
    assert.match(stderr, /contains no key "nobody's"; keys list shows the names/);
  });
});

describe("the file of the keys", () => {
  it("stays as it was in force while it cannot be used, which is logged once, and is taken when it is mended", async () => {
    const file = path.join(home.data, "keys.json");
    const [text, token, start] = [await readFile(file, "utf8"), await issue("damaged"), service.stderr().length];
    const told = (): string[] => {
      const lines = service.stderr().slice(start).split("\n");
      return lines.filter((line) => line.includes("the keys in force stay"));
    };
    await writeFile(file, "{");
    await until(() => told().length === 1, "it is logged");
    assert.ok(!told()[0]!.includes(JSON.parse(text).keys[0].d));
    assert.equal((await service.run("damaged", "6 * 7", { token })).text, "42");
    const { code, stderr } = await keys("rotate");
    assert.equal(code, 1);
    assert.match(stderr, /it is not JSON; restore the file from a backup/);
    await writeFile(file, text);
    assert.equal((await keys("rotate")).code, 0);
    assert.equal(told().length, 1);
  });

  it("is taken at the next start when no service runs", async () => {
    const alone = await makeHome();
    const { stderr, code } = await command(["keys", "rotate", "--data", alone.data]);
    assert.equal(code, 1);
    assert.match(stderr, /there are no signing keys at .*keys\.json; start the service once/);
    await mkdir(alone.data, { mode: 0o700 });
    await writeFile(path.join(alone.data, "keys.json"), await readFile(path.join(home.data, "keys.json")), {
      mode: 0o600,
    });
    // Nobody listens on port 1.
    const rotated = await command(["keys", "rotate", "--data", alone.data, "--port", "1"]);
    assert.equal(rotated.code, 0);
    assert.match(rotated.stderr, /no service answers at port 1 of 127\.0\.0\.1; one that starts takes these keys/);
    await alone[Symbol.asyncDispose]();
  });

  it("stays its owner's when root rotates", { skip: process.getuid!() !== 0 && "needs root" }, async () => {
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
    "is reached by root below a folder that is root's alone",
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
      for (const words of [["rotate"], ["revoke", "x".repeat(43)]]) {
        const { stderr } = await command(["keys", ...words, "--data", alone.data, "--port", "1"]);
        assert.doesNotMatch(stderr, /open database/, words[0]);
      }
      assert.equal((JSON.parse(await readFile(file, "utf8")) as { keys: unknown[] }).keys.length > 1, true);
      assert.equal((await stat(`${file}.lock`)).uid, 4_242);
      await alone[Symbol.asyncDispose]();
    },
  );
});
