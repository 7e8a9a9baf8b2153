import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { containerRecord, jtiOf, limitRecord, tokenRecord } from "../contract/record.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "../contract/service.ts";
import { command, type Ended } from "./command.ts";
import { hostedCommand } from "./hosted-command.ts";

let home: Home;
let service: Service;

before(async () => {
  home = await makeHome();
  service = await startService([...NO_WALL, "--container-limit", "month=5", "--token-limit", "week=9"], home);
});
after(() => leave(service, home));

function limits(...args: string[]): Promise<Ended> {
  return hostedCommand(["limits", ...args, "--port", String(service.port), "--data", home.data]);
}

function limitsIn({ stdout }: Ended): unknown {
  return (JSON.parse(stdout) as { limits: unknown }).limits;
}

describe("limits show", () => {
  it("prints what is allowed, used and left in each window of a container", async () => {
    for (let run = 0; run < 2; run++) await service.run("shown", "1");
    const { code, stdout, stderr } = await limits("show", "container", "shown");
    assert.deepEqual([code, stderr], [0, ""]);
    const lines = stdout.split("\n");
    assert.equal(lines[0], "window  limit  used  left    more in  set by");
    assert.equal(lines[5], "week        -     2     -");
    assert.match(lines[6]!, /^month       5     2     3  26\d{5} s  server$/);
    assert.deepEqual(lines.slice(7), [""]);
    assert.deepEqual(await containerRecord(service, "shown"), limitRecord({ month: 3 }));
  });

  it("prints the windows of a token as JSON with --json, with the token of a variable", async () => {
    const token = await service.issue({ containers: ["*"], limits: { token: { day: 4 } } });
    const args = ["limits", "show", "token", jtiOf(token), "--json", "--port", String(service.port)];
    const { code, stdout } = await command(args, { CAISSON_TOKEN: token });
    assert.equal(code, 0);
    assert.deepEqual((JSON.parse(stdout) as Record<string, unknown>)["day"], {
      limit: 4,
      remaining: 4,
      used: 0,
      resetSeconds: 0,
      setBy: "token",
      jti: jtiOf(token),
    });
  });
});

describe("limits reset", () => {
  it("resets a container or a token, and prints the new state", async () => {
    const token = await service.issue({ containers: ["*"] });
    await service.run("reset", "1", { token });
    const container = await limits("reset", "container", "reset");
    assert.match(container.stdout, /^month {7}5 {5}0 {5}5 {11}server$/m);
    assert.deepEqual(await containerRecord(service, "reset"), limitRecord({ month: 5 }));
    assert.deepEqual(await tokenRecord(service, token), limitRecord({ week: 8 }));
    assert.equal((await limits("reset", "token", jtiOf(token))).code, 0);
    assert.deepEqual(await tokenRecord(service, token), limitRecord({ week: 9 }));
  });
});

describe("limits set", () => {
  it("replaces the limits of a container, and removes them", async () => {
    const set = await limits("set", "container", "set", "minute=7", "month=3", "--json");
    assert.equal(set.code, 0);
    assert.deepEqual(limitsIn(set), { minute: 7, month: 3 });
    assert.deepEqual(await containerRecord(service, "set"), limitRecord({ minute: 7, month: 3 }));
    assert.equal((await limits("set", "container", "set", "day=2")).code, 0);
    assert.deepEqual(await containerRecord(service, "set"), limitRecord({ day: 2, month: 5 }));
    assert.deepEqual(limitsIn(await limits("set", "container", "set", "--none", "--json")), {});
    assert.deepEqual(await containerRecord(service, "set"), limitRecord({ month: 5 }));
  });

  it("changes nothing if a limit is invalid", async () => {
    for (const wrong of ["minute=0", "year=3", "minute", "day=1.5"]) {
      const { code, stderr } = await limits("set", "container", "unset", "hour=1", wrong);
      assert.equal(code, 2);
      assert.match(stderr, /^caisson: ./, wrong);
    }
    assert.deepEqual(await containerRecord(service, "unset"), limitRecord({ month: 5 }));
  });
});

describe("a limits command that fails", () => {
  it("ends with the problem of the service, and the exit code for it", async () => {
    const named = await limits("show", "container", "a b");
    assert.equal(named.code, 2);
    assert.match(
      named.stderr,
      /^caisson: .*'a b' is invalid for argument 'name'\. A name has letters, .*\nThe form is: caisson limits show container acme/,
    );
    const words = ["limits", "reset", "container", "demo", "--port", String(service.port)];
    const token = await service.issue({ containers: ["*"] });
    const refused = await hostedCommand(words, { CAISSON_TOKEN: token });
    assert.equal(refused.code, 3);
    assert.match(
      refused.stderr,
      /^caisson: token_forbidden: resetting limits needs the token of an administrator\ncaisson: .*--admin/,
    );
    assert.ok(!refused.stderr.includes(token));
  });

  it("reports where it looked for the token and for the service", async () => {
    const nowhere = await hostedCommand(["limits", "show", "container", "demo", "--data", home.tmp]);
    assert.match(nowhere.stderr, /^caisson: no administrative token: \/.*admin\.token cannot be read; set --data/);
    const closed = await hostedCommand(["limits", "show", "container", "demo", "--data", home.data, "--port", "9"]);
    assert.match(
      closed.stderr,
      /^caisson: unreachable: the service at http:\/\/127\.0\.0\.1:9 cannot be reached: connect ECONNREFUSED .*\ncaisson: Start the service of this machine with caisson serve/,
    );
    assert.deepEqual([nowhere.code, closed.code], [2, 4]);
  });

  it("rejects another kind", async () => {
    assert.equal((await limits("show", "task", "demo")).code, 2);
  });

  it("sends the token only to a server with the certificate of the settings", async () => {
    await using folder = await mkdtempDisposable(path.join(tmpdir(), "caisson-limits-cli-"));
    const [own, other] = ["own", "other"].map((name) => makeCertificate(path.join(folder.path, name)));
    const tokens: (string | undefined)[] = [];
    await using server = createServer({ cert: readFileSync(own!.cert), key: readFileSync(own!.key) });
    server.on("request", (request, answer) => {
      tokens.push(request.headers.authorization);
      answer.end('{"day": {"limit": 4, "remaining": 4, "used": 0, "resetSeconds": 0}}');
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const show = (tls: { cert: string; key: string }): Promise<Ended> => {
      const args = ["limits", "show", "container", "demo", "--port", String(port)];
      return hostedCommand([...args, "--tls-cert", tls.cert, "--tls-key", tls.key], { CAISSON_TOKEN: "secret" });
    };
    assert.match((await show(own!)).stdout, /^day +4 +0 +4$/m);
    const refused = await show(other!);
    assert.deepEqual([refused.code, refused.stdout, tokens], [4, "", ["Bearer secret"]]);
  });
});

function makeCertificate(name: string): { cert: string; key: string } {
  const files = { cert: `${name}.pem`, key: `${name}.key` };
  const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  const subject = ["-subj", "/CN=caisson.example", "-out", files.cert, "-keyout", files.key];
  execFileSync("openssl", [...args, ...subject], { stdio: "ignore" });
  return files;
}
