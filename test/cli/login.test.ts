import assert from "node:assert/strict";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { serveCode } from "../contract/code-server.ts";
import { jtiOf } from "../contract/record.ts";
import { type Service, shareService } from "../contract/service.ts";
import { command, type Ended } from "./command.ts";
import { hostedCommand } from "./hosted-command.ts";

let service: Service;
/** The folder of the user's settings, and the folder in which the user types. */
let settings: string;
let folder: string;
/** A server that is not caisson. It keeps the tokens that it receives. */
let other: Awaited<ReturnType<typeof serveCode>>;

before(async () => {
  service = await shareService();
  folder = await mkdtemp(path.join(tmpdir(), "caisson-login-"));
  settings = path.join(folder, "settings");
  other = await serveCode((_, response) => response.end());
});
after(async () => {
  await other.close();
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Typed {
  readonly input?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Runs a command as a user with profiles types it in the folder of a project. */
function caisson(words: readonly string[], { input, environment = {} }: Typed = {}): Promise<Ended> {
  return hostedCommand(words, { XDG_CONFIG_HOME: settings, ...environment }, input, folder);
}

/** Runs a command in a separate process. */
function caissonAlone(words: readonly string[], input?: string): Promise<Ended> {
  return command(words, { XDG_CONFIG_HOME: settings }, undefined, input, folder);
}

const profilesFile = (): string => path.join(settings, "caisson/profiles.json");
const host = (): string => new URL(service.url).host;

describe("caisson login", () => {
  it("checks the token, stores it for its owner only, and uses it from then on", async () => {
    const { code, stdout, stderr } = await caissonAlone([
      "login",
      "--url",
      `${service.url}/`,
      "--token",
      service.admin,
    ]);
    assert.deepEqual([code, stdout], [0, ""], stderr);
    assert.ok(stderr.includes(`logged in to ${service.url} as profile ${host()}`), stderr);
    assert.match(stderr, /next: caisson init/);
    assert.equal((await stat(profilesFile())).mode & 0o777, 0o600);
    assert.equal((await stat(path.dirname(profilesFile()))).mode & 0o777, 0o700);
    const shown = await caissonAlone(["whoami"]);
    assert.match(shown.stdout, new RegExp(`^service  ${service.url}$`, "m"));
    assert.match(shown.stdout, /^permits {2}everything: it is administrative$/m);
    assert.match((await caissonAlone(["containers", "list"])).stdout, /^container/);
  });

  it("reads the token from stdin, so that it is not in the shell history", async () => {
    const token = await service.issue({ containers: ["acme"], can: ["run", "logs"] });
    const words = ["login", "--url", service.url, "--profile", "acme", "--json"];
    for (const more of [[], ["--token", "-"]]) {
      const { code, stdout } = await caisson([...words, ...more], { input: `${token}\n` });
      assert.equal(code, 0);
      assert.deepEqual(JSON.parse(stdout), { profile: "acme", url: service.url, token: jtiOf(token) });
    }
    const { stdout } = await caisson(["whoami", "--json"]);
    assert.partialDeepStrictEqual(JSON.parse(stdout), {
      ...{ url: service.url, profile: "acme", admin: false, containers: ["acme"], can: ["run", "logs"] },
      otherProfiles: [host()],
    });
    const back = await caisson(["login", "--profile", host()]);
    assert.equal(back.code, 0);
    assert.match((await caisson(["whoami"])).stdout, /everything/);
  });

  it("stores nothing that the service does not accept, and shows no token", async () => {
    const stored = await readFile(profilesFile(), "utf8");
    const token = `${service.admin.slice(0, -4)}AAAA`;
    const cases: [string[], number, RegExp][] = [
      [["--url", service.url, "--token", token], 3, /^caisson: token_invalid: /],
      [["--url", other.url, "--token", service.admin], 4, /^caisson: unexpected_answer: /],
      [["--url", "http://127.0.0.1:9", "--token", service.admin], 4, /^caisson: unreachable: /],
      [["--url", "http://caisson.example", "--token", service.admin], 2, /unencrypted; use https or --insecure-http/],
      [["--url", "caisson.example", "--token", service.admin], 2, /is not a URL.*; did you mean https:\/\/caisson/],
      [["--url", `${service.url}/api`, "--token", service.admin], 2, /Leave \/api out of the url: http/],
      [["--url", service.url, "--token", "a b"], 2, /characters that no token/],
      [
        ["--url", service.url],
        2,
        /there is no token\. A service writes .* login --url URL < data\/admin\.token\. Or give/,
      ],
      [
        ["--url", service.url, "--token", path.resolve("package.json")],
        2,
        /package\.json is a file; give its content: .* < .*package\.json/,
      ],
      [["--token", service.admin], 2, /--url is required/],
      [["--profile", "unknown"], 2, /there is no profile "unknown"; the profiles are /],
    ];
    for (const [words, exitCode, message] of cases) {
      const { code, stdout, stderr } = await caisson(["login", ...words]);
      assert.deepEqual([code, stdout], [exitCode, ""], `${words.join(" ")}: ${stderr}`);
      assert.match(stderr, message);
      assert.ok(!stderr.includes(service.admin) && !stderr.includes(token), stderr);
    }
    assert.equal(await readFile(profilesFile(), "utf8"), stored);
  });

  it("is undone by logout", async () => {
    assert.equal((await caissonAlone(["login", "--url", service.url, "--profile", "gone"], service.admin)).code, 0);
    const { code, stdout } = await caissonAlone(["logout", "--json"]);
    assert.deepEqual([code, JSON.parse(stdout)], [0, { removed: ["gone"] }]);
    assert.equal((await caisson(["whoami", "--profile", "gone"])).code, 2);
    assert.match((await caisson(["logout"])).stderr, /no profile is in use; choose one with --profile: /);
    assert.equal((await caisson(["login", "--profile", host()])).code, 0);
  });
});

describe("the service of a command", () => {
  it("is that of --url with the token of the profile for this URL, and no other token", async () => {
    const received = other.requests.length;
    const { stdout } = await caisson(["whoami", "--url", service.url, "--json"]);
    assert.equal((JSON.parse(stdout) as { profile: string }).profile, host());
    for (const words of [
      ["--url", other.url],
      ["--url", `${service.url}/below`],
    ]) {
      const { code, stderr } = await caisson(["whoami", ...words], { environment: { CAISSON_DATA: service.data } });
      assert.equal(code, 2);
      assert.match(stderr, /there is no token for .*; run caisson login --url .*, or set CAISSON_TOKEN/);
    }
    assert.equal(other.requests.length, received);
  });

  it("is that of CAISSON_URL or CAISSON_PROFILE, before the profile of the latest login", async () => {
    const profile = await caisson(["whoami", "--json"], { environment: { CAISSON_PROFILE: "acme" } });
    assert.equal((JSON.parse(profile.stdout) as { profile: string }).profile, "acme");
    const url = await caisson(["whoami"], {
      environment: { CAISSON_URL: "http://127.0.0.1:9", CAISSON_TOKEN: "some" },
    });
    assert.equal(url.code, 4);
    const both = await caisson(["whoami"], { environment: { CAISSON_URL: other.url, CAISSON_PROFILE: "acme" } });
    assert.deepEqual([both.code, both.stdout], [2, ""]);
  });

  it("gets the token of CAISSON_TOKEN instead of that of the profile", async () => {
    const token = await service.issue({ containers: ["ci"], can: ["run"] });
    const environment = { CAISSON_TOKEN: token };
    const twoLines = await caisson(["whoami"], { environment: { CAISSON_TOKEN: "one\ntwo" } });
    assert.deepEqual([twoLines.code, twoLines.stdout], [2, ""]);
    assert.equal(twoLines.stderr, "caisson: CAISSON_TOKEN: the token has characters that no token of caisson has\n");
    for (const words of [["whoami"], ["whoami", "--profile", "acme"], ["whoami", "--url", service.url]]) {
      const { stdout } = await caisson(words, { environment });
      assert.match(stdout, new RegExp(`^token .*${jtiOf(token)} \\(of CAISSON_TOKEN\\)$`, "m"));
    }
  });

  it("is that of the caisson.json in the folder, which receives CAISSON_TOKEN only after a login", async () => {
    const received = other.requests.length;
    const file = path.join(folder, "caisson.json");
    await writeFile(file, JSON.stringify({ url: service.url, container: "acme" }));
    assert.match((await caisson(["whoami"])).stdout, new RegExp(`^service +${service.url}$`, "m"));
    const token = await service.issue({ containers: ["ci"], can: ["run"] });
    const logged = await caisson(["whoami"], { environment: { CAISSON_TOKEN: token } });
    assert.match(logged.stdout, new RegExp(`^token .*${jtiOf(token)} \\(of CAISSON_TOKEN\\)$`, "m"));
    await writeFile(file, JSON.stringify({ url: other.url, container: "acme" }));
    for (const environment of [{}, { CAISSON_TOKEN: service.admin }]) {
      const { code, stderr } = await caisson(["whoami"], { environment });
      assert.equal(code, 2);
      assert.match(
        stderr,
        /^caisson: (?:there is no token for|CAISSON_TOKEN is not sent to the url in caisson\.json alone)/,
      );
    }
    assert.equal(other.requests.length, received);
    await writeFile(file, "{");
    assert.match((await caisson(["whoami"])).stderr, /caisson\.json cannot be read/);
    await rm(file);
  });

  it("is that of this machine without a profile, and with one of its settings", async () => {
    const words = ["whoami", "--port", String(service.port), "--data", service.data];
    assert.match((await caisson(words)).stdout, /^service .*\(the service of this machine\)$/m);
    const none = {
      XDG_CONFIG_HOME: path.join(folder, "none"),
      CAISSON_PORT: String(service.port),
      CAISSON_DATA: service.data,
    };
    assert.match(
      (await caisson(["whoami"], { environment: none })).stdout,
      /^service .*\(the service of this machine\)$/m,
    );
  });

  it("is not used with a file of profiles that other users can read, or that is damaged", async () => {
    await chmod(profilesFile(), 0o644);
    const open = await caisson(["whoami"]);
    assert.deepEqual([open.code, open.stdout], [2, ""]);
    assert.match(open.stderr, /has tokens, and other users can read it; run: chmod 600 /);
    await chmod(profilesFile(), 0o600);
    await writeFile(profilesFile(), '{"profiles": {"a": {}}}');
    assert.match((await caisson(["whoami"])).stderr, /profiles\.json is damaged: .*run caisson login again/);
  });
});
