import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { assertProblem } from "../contract/problem.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "../contract/service.ts";
import { command, type Ended } from "./command.ts";

let home: Home;
let service: Service;

before(async () => {
  home = await makeHome();
  service = await startService(NO_WALL, home);
});
after(() => leave(service, home));

function issue(...words: string[]): Promise<Ended> {
  return command(["token", "issue", ...words, "--port", String(service.port), "--data", home.data]);
}

describe("token issue", () => {
  it("asks the service for a token, and prints it and nothing else", async () => {
    const words = ["--container", "acme", "--can", "run,issue", "--limit", "token.day=2", "--depth", "1", "--fresh"];
    const { code, stdout, stderr } = await issue(...words, "--expires", "1h", "--no-self-revoke", "--offline");
    assert.deepEqual([code, stderr], [0, ""]);
    const token = stdout.trim();
    const jti = (JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as { jti: string }).jti;
    const { claims } = (await service.request("GET", `/api/tokens/${jti}`)).json() as { claims: object };
    assert.partialDeepStrictEqual(claims, {
      containers: ["acme"],
      can: ["run", "issue"],
      limits: { token: { day: 2 } },
      depth: 1,
      fresh: true,
      selfRevoke: false,
      net: false,
    });
    assert.equal((await service.run("acme", "6 * 7", { token })).text, "42");
  });

  it("gives it params, secrets and the pin that they need", async () => {
    const code = "(context) => [context.params, context.secrets]";
    const given = ["--container", "acme", "--param", "plan=pro", "--secret", "KEY=a=b", "--secret", "B=2"];
    const sha256 = createHash("sha256").update(code).digest("hex");
    for (const allowed of [["--secrets-readable"], ["--code-sha256", sha256]]) {
      const { stdout, stderr } = await issue(...given, ...allowed);
      assert.equal(stderr, "");
      const answer = await service.run("acme", code, { token: stdout.trim() });
      assert.deepEqual(answer.json(), [{ plan: "pro" }, { KEY: "a=b", B: "2" }]);
    }
    const refused = await issue(...given);
    assert.deepEqual([refused.code, refused.stdout], [1, ""]);
    assert.match(refused.stderr, /secretsReadable: true/);
    assert.doesNotMatch(refused.stderr, /a=b/);
    const offline = ["--admin", "--secret", "KEY=offline", "--secrets-readable"];
    const { stdout } = await command(["token", "issue", ...offline, "--data", home.data]);
    assert.deepEqual((await service.run("acme", code, { token: stdout.trim() })).json(), [{}, { KEY: "offline" }]);
  });

  it("takes secrets from the environment, from files and from stdin, so that no list of processes has them", async () => {
    const file = path.join(home.data, "../secret.txt");
    await writeFile(file, "of a file\n");
    const given = [
      "--secret",
      "ENV_KEY",
      "--secret-file",
      `FILE=${file}`,
      "--secret-file",
      "STDIN=-",
      "--secrets-readable",
    ];
    const words = [
      "token",
      "issue",
      "--port",
      String(service.port),
      "--data",
      home.data,
      "--container",
      "acme",
      ...given,
    ];
    const { stdout, stderr } = await command(words, { ENV_KEY: "of the environment" }, undefined, "of stdin\n");
    assert.equal(stderr, "");
    const answer = await service.run("acme", "(context) => context.secrets", { token: stdout.trim() });
    assert.deepEqual(answer.json(), { ENV_KEY: "of the environment", FILE: "of a file", STDIN: "of stdin" });
    const unset = await command(words, {}, undefined, "of stdin\n");
    assert.deepEqual([unset.code, unset.stdout], [1, ""]);
    assert.match(unset.stderr, /no environment variable has that name/);
  });

  it("issues below the token that it is given", async () => {
    const head = await service.issue({ containers: ["acme"], can: ["run", "issue"], depth: 1 });
    const words = ["token", "issue", "--port", String(service.port), "--container", "acme"];
    const { stdout } = await command(words, { CAISSON_TOKEN: head });
    assert.equal((await service.run("acme", "6 * 7", { token: stdout.trim() })).text, "42");
    const { code, stderr } = await command([...words, "--can", "limits"], { CAISSON_TOKEN: head });
    assert.equal(code, 1);
    assert.match(stderr, /may not issue more than it has/);
    assertProblem(await service.run("other", "1", { token: stdout.trim() }), 403, "token_forbidden");
  });

  it("makes an administrator's from the data folder, which the service takes", async () => {
    const { code, stdout } = await command(["token", "issue", "--admin", "--data", home.data]);
    assert.equal(code, 0);
    assert.equal((await service.request("GET", "/api/tokens", { token: stdout.trim() })).status, 200);
  });

  it("tells every fault that the service finds, and with them what is more than its token has", async () => {
    const words = ["--container", "a*b", "--can", "run,fly", "--depth", "9", "--net", "b.example"];
    const head = await service.issue({ containers: ["acme"], can: ["run", "issue"], depth: 1, net: ["a.example"] });
    const below = ["token", "issue", "--port", String(service.port), ...words];
    const members = ["containers.0", "can.1", "depth"];
    const answers: [Ended, string[]][] = [
      [await issue(...words), members],
      [await command(["token", "issue", "--admin", ...words, "--data", home.data]), members],
      [await command(below, { CAISSON_TOKEN: head }), [...members, "net"]],
    ];
    for (const [{ code, stdout, stderr }, expected] of answers) {
      assert.deepEqual([code, stdout], [1, ""]);
      for (const member of expected) assert.match(stderr, new RegExp(`^caisson: +${member.replace(".", "[.]")} `, "m"));
    }
  });

  it("says what is wrong, and prints no token", async () => {
    for (const [words, said] of [
      [["--depth", "x", "--container", "a"], /--depth must be a whole number/],
      [["--container", "-"], /container name/],
      [[], /--container .* or --admin/],
      [["--admin", "--container", "a"], /containers narrows/],
    ] as const) {
      const { code, stdout, stderr } = await issue(...words);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, said);
    }
  });
});
