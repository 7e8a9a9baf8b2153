import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { assertProblem } from "../contract/problem.ts";
import { jtiOf } from "../contract/record.ts";
import { type Service, shareService } from "../contract/service.ts";
import { command, type Ended } from "./command.ts";
import { hostedCommand } from "./hosted-command.ts";

let service: Service;

before(async () => {
  service = await shareService();
});
after(() => service.stop());

function issue(...args: string[]): Promise<Ended> {
  return hostedCommand(["token", "issue", ...args, "--port", String(service.port), "--data", service.data]);
}

describe("token issue", () => {
  it("requests a token from the service, and prints only the token", async () => {
    const args = ["--container", "acme", "--can", "run,issue", "--limit", "token.day=2", "--depth", "1", "--fresh"];
    const words = ["token", "issue", ...args, "--expires", "1h", "--no-self-revoke", "--offline"];
    const { code, stdout, stderr } = await command([...words, "--port", String(service.port), "--data", service.data]);
    assert.equal(code, 0);
    const token = stdout.trim();
    const jti = (JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as { jti: string }).jti;
    assert.ok(stderr.startsWith(`caisson: the token ${jti} permits run, issue in acme; it expires: `), stderr);
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

  it("sets params, secrets and the pin that secrets require", async () => {
    const code = "(context) => [context.params, context.secrets]";
    const flags = ["--container", "acme", "--param", "plan=pro", "--secret", "KEY=a=b", "--secret", "B=2"];
    const sha256 = createHash("sha256").update(code).digest("hex");
    for (const allowed of [["--secrets-readable"], ["--code-sha256", sha256]]) {
      const { stdout, stderr } = await issue(...flags, ...allowed);
      assert.doesNotMatch(stderr, /a=b/);
      const answer = await service.run("acme", code, { token: stdout.trim() });
      assert.deepEqual(answer.json(), [{ plan: "pro" }, { KEY: "a=b", B: "2" }]);
    }
    const refused = await issue(...flags);
    assert.deepEqual([refused.code, refused.stdout], [2, ""]);
    assert.match(refused.stderr, /secretsReadable: true/);
    assert.doesNotMatch(refused.stderr, /a=b/);
    const offline = ["--admin", "--secret", "KEY=offline", "--secrets-readable"];
    const { stdout } = await command(["token", "issue", ...offline, "--data", service.data]);
    assert.deepEqual((await service.run("acme", code, { token: stdout.trim() })).json(), [{}, { KEY: "offline" }]);
  });

  it("reads secrets from the environment, files and stdin, so that they are not in the list of processes", async () => {
    const file = path.join(service.data, "../secret.txt");
    await writeFile(file, "of a file\n");
    const flags = [
      "--secret",
      "ENV_KEY",
      "--secret-file",
      `FILE=${file}`,
      "--secret-file",
      "STDIN=-",
      "--secrets-readable",
    ];
    const args = [
      "token",
      "issue",
      "--port",
      String(service.port),
      "--data",
      service.data,
      "--container",
      "acme",
      ...flags,
    ];
    const { stdout, stderr } = await command(args, { ENV_KEY: "of the environment" }, undefined, "of stdin\n");
    assert.doesNotMatch(stderr, /of the environment|of a file|of stdin/);
    const answer = await service.run("acme", "(context) => context.secrets", { token: stdout.trim() });
    assert.deepEqual(answer.json(), { ENV_KEY: "of the environment", FILE: "of a file", STDIN: "of stdin" });
    const unset = await command(args, {}, undefined, "of stdin\n");
    assert.deepEqual([unset.code, unset.stdout], [2, ""]);
    assert.match(unset.stderr, /no environment variable has that name/);
  });

  it("takes the members of a preset, which other flags change, and the containers of the arguments", async () => {
    const claimsOf = async (...args: string[]): Promise<object> => {
      const { code, stdout, stderr } = await issue(...args, "--json");
      assert.deepEqual([code, stderr], [0, ""]);
      return (JSON.parse(stdout) as { claims: object }).claims;
    };
    assert.partialDeepStrictEqual(await claimsOf("--preset", "customer", "acme", "acme-*"), {
      containers: ["acme", "acme-*"],
      can: ["run", "limits", "tasks", "logs"],
      limits: { token: { minute: 60, day: 10_000 } },
      labels: { preset: "customer" },
    });
    const reader = await claimsOf("--preset", "log reader", "acme", "--expires", "1h", "--label", "team=a");
    assert.partialDeepStrictEqual(reader, { can: ["logs"], limits: {}, labels: { preset: "log-reader", team: "a" } });
    const { exp, iat } = reader as { exp: number; iat: number };
    assert.equal(exp - iat, 3_600);
    assert.partialDeepStrictEqual(await claimsOf("--preset", "agent", "acme"), { net: false });
    const agent = await claimsOf("--preset", "agent", "acme", "--net", "api.example");
    assert.partialDeepStrictEqual(agent, { net: ["api.example"] });
    await claimsOf("--preset", "webhook-owner", "acme");
    const unknown = await issue("--preset", "admin", "acme");
    assert.deepEqual([unknown.code, unknown.stdout], [2, ""]);
    assert.match(unknown.stderr, /the presets are customer, webhook-owner, agent, log-reader/);
  });

  it("issues below the token of the environment", async () => {
    const head = await service.issue({ containers: ["acme"], can: ["run", "issue"], depth: 1 });
    const args = ["token", "issue", "--port", String(service.port), "--container", "acme"];
    const { stdout } = await hostedCommand(args, { CAISSON_TOKEN: head });
    assert.equal((await service.run("acme", "6 * 7", { token: stdout.trim() })).text, "42");
    const { code, stderr } = await hostedCommand([...args, "--can", "limits"], { CAISSON_TOKEN: head });
    assert.equal(code, 3);
    assert.match(stderr, /may not issue more than it has/);
    assertProblem(await service.run("other", "1", { token: stdout.trim() }), 403, "token_forbidden");
  });

  it("issues an administrative token from the data folder, which the service accepts", async () => {
    const { code, stdout, stderr } = await command(["token", "issue", "--admin", "--data", service.data]);
    assert.ok(stderr.includes(`it is for the service of the data folder ${service.data}`), stderr);
    assert.equal(code, 0);
    assert.equal((await service.request("GET", "/api/tokens", { token: stdout.trim() })).status, 200);
  });

  it("prints all faults that the service reports, also members that exceed the token", async () => {
    const args = ["--container", "a*b", "--can", "run,fly", "--depth", "9", "--net", "b.example"];
    const head = await service.issue({ containers: ["acme"], can: ["run", "issue"], depth: 1, net: ["a.example"] });
    const below = ["token", "issue", "--port", String(service.port), ...args];
    const members = ["containers.0", "can.1", "depth"];
    const answers: [Ended, string[]][] = [
      [await issue(...args), members],
      [await command(["token", "issue", "--admin", ...args, "--data", service.data]), members],
      [await hostedCommand(below, { CAISSON_TOKEN: head }), [...members, "net"]],
    ];
    for (const [{ code, stdout, stderr }, expected] of answers) {
      assert.deepEqual([code, stdout], [2, ""]);
      for (const member of expected) assert.match(stderr, new RegExp(`^caisson: +${member.replace(".", "[.]")} `, "m"));
    }
  });

  it("prints the fault, and no token", async () => {
    for (const [args, message] of [
      [["--depth", "x", "--container", "a"], /--depth must be a whole number/],
      [["--container", "-"], /container name/],
      [[], /a container is required.* or --admin/],
      [["--admin", "--container", "a"], /containers contradicts admin/],
    ] as const) {
      const { code, stdout, stderr } = await issue(...args);
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, message);
    }
  });
});

function tokens(...args: string[]): Promise<Ended> {
  return hostedCommand(["tokens", ...args, "--port", String(service.port), "--data", service.data]);
}

describe("tokens list, show and revoke", () => {
  it("find a token by its label, show what it permits and its end, and end it", async () => {
    const { stdout } = await issue(
      "--container",
      "found",
      "--label",
      "team=search",
      "--description",
      "\u001b[2Jfor a test",
    );
    const token = stdout.trim();
    const jti = jtiOf(token);
    const listed = await tokens("list", "--label", "team=search");
    assert.match(listed.stdout, /^token +expires +runs {2}permits$/m);
    const row = new RegExp(`^${jti}  \\d{4}-\\d\\d-\\d\\d {5}0  run, limits in found;`, "m");
    assert.match(listed.stdout, row);
    assert.ok(listed.stdout.includes("\\u001b[2Jfor"), listed.stdout);
    assert.ok(
      listed.stdout.split("\n").every((line) => line.length <= 80),
      listed.stdout,
    );
    const shown = await tokens("show", jti);
    assert.match(shown.stdout, /^permits +run, limits in found$/m);
    assert.match(shown.stdout, /^revoked +no$/m);
    assert.ok(!shown.stdout.includes(token));
    const revoked = await tokens("revoke", jti, "--json");
    assert.deepEqual(JSON.parse(revoked.stdout), { jti, revoked: true });
    assertProblem(await service.run("found", "1", { token }), 403, "token_invalid");
    assert.match((await tokens("show", jti)).stdout, /^revoked +\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ by /m);
    const json = JSON.parse((await tokens("list", "--container", "found", "--json")).stdout) as { jti: string }[];
    assert.ok(json.some((each) => each.jti === jti));
  });

  it("say that there are more than --limit", async () => {
    await issue("--container", "found");
    const { stdout, stderr } = await tokens("list", "--limit", "1");
    assert.equal(
      stdout
        .trimEnd()
        .split("\n")
        .filter((line) => /^[\da-f]{8}-/.test(line)).length,
      1,
    );
    assert.equal(stderr, "caisson: the list goes on after 1; --limit 10 shows more\n");
  });
});
