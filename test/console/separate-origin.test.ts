import assert from "node:assert/strict";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { mkdtempDisposable, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { hostname, tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { connect as connectSecurely } from "node:tls";

import type { Browser } from "playwright-core";

import { request } from "../contract/http.ts";
import { caisson, type Home, makeHome, NO_WALL, type Service, startService } from "../contract/service.ts";
import { until } from "../contract/until.ts";
import { freePort } from "../ports.ts";
import { SELF_SIGNED } from "../source/self-signed.ts";
import { openBrowser, openConsole, openPage, openTab, PAGES, settled } from "./console-browser.ts";
import { hostilePage, spoils } from "./hostile-page.ts";

const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="20"><script>globalThis.ran = 1</script><circle r="9"/></svg>';
/** A page of the operator's application, which embeds the URL in its query. */
const APPLICATION = `<!doctype html><title>app</title><script>
  const frame = document.createElement("iframe");
  frame.src = decodeURIComponent(location.search.slice(1));
  document.body.append(frame);
</script>`;

/** So few that one network may have fewer connections than a test opens. */
const DESCRIPTORS = 600;
const MANY = 250;

const application = createServer((_, response) => {
  response.writeHead(200, { "content-type": "text/html" }).end(`<body>${APPLICATION}`);
});
let applicationPort = 0;
let consolePort = 0;
let logo = "";
let home: Home;
let service: Service;
let browser: Browser;

before(async () => {
  application.listen(0, "127.0.0.1");
  await once(application, "listening");
  applicationPort = (application.address() as AddressInfo).port;
  [home, consolePort] = await Promise.all([makeHome(), freePort()]);
  logo = path.join(home.tmp, "logo.svg");
  await writeFile(logo, LOGO);
  const flags = [
    ...[...NO_WALL, "--console-port", String(consolePort), "--egress-allow", `${hostname()}:${consolePort}`],
    ...["--console-title", 'Ada\'s <b>"shop"</b>', "--console-accent", "#7a3cff", "--console-logo", logo],
    ...["--console-frame-ancestors", `http://localhost:${applicationPort}`],
  ];
  [service, browser] = await Promise.all([startService(flags, home), openBrowser()]);
});
after(async () => {
  await browser?.close();
  application.close();
  application.closeAllConnections();
  // The service must leave the folder as empty as a start finds it.
  await rm(logo, { force: true });
  await service?.stop();
  await home[Symbol.asyncDispose]();
});

describe("a console with a separate port", () => {
  it("is at the URL that the start prints, and every page works from there", async () => {
    const url = `http://127.0.0.1:${consolePort}/`;
    assert.match(service.stdout(), new RegExp(`^console: ${url}$`, "m"));
    await using tab = await openConsole(browser, url, service.admin);
    for (const name of PAGES) await openPage(tab.page, name);
    assert.deepEqual(tab.complaints, []);
  });

  it("shows the title, the accent colour and the logo of the operator, as text and as an image", async () => {
    await using tab = await openTab(browser, `http://127.0.0.1:${consolePort}/`);
    const { page } = tab;
    assert.equal(await page.title(), 'Ada\'s <b>"shop"</b>');
    const image = page.getByRole("heading").getByRole("img", { name: "Ada's" });
    assert.equal(await image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth), 80);
    assert.equal(
      await page.evaluate('getComputedStyle(document.querySelector("button")).backgroundColor'),
      "rgb(122, 60, 255)",
    );
    await page.goto(`http://127.0.0.1:${consolePort}/console/logo`);
    assert.equal(await page.evaluate("globalThis.ran"), undefined);
  });

  it("answers with the page, its files and nothing else", async () => {
    const ask = (method: string, target: string, headers = {}): ReturnType<typeof request> =>
      request(consolePort, method, target, { headers });
    const page = await ask("GET", "/?a=b");
    assert.match(page.headers["content-security-policy"]!, /connect-src 'self' http:\/\/127\.0\.0\.1:\d+;/);
    const [file] = /console\/start-\w+\.js/.exec(page.text)!;
    const script = await ask("GET", `/${file}`);
    assert.deepEqual([script.status, script.headers["content-type"]], [200, "text/javascript; charset=utf-8"]);
    const head = await ask("HEAD", "/");
    assert.deepEqual([head.status, head.text], [200, ""]);
    for (const other of [
      "/healthz",
      "/api/tokens",
      "/api/run/demo",
      "/console/",
      "/console/a/b",
      "/console/..%2f",
      "*",
    ]) {
      assert.equal((await ask("GET", other)).status, 404, other);
    }
    assert.equal((await ask("POST", "/")).status, 405);
    for (const host of ["a b", "x';script-src *", "a/b", "[::1", "a".repeat(300)]) {
      assert.equal((await ask("GET", "/", { host })).status, 400, host);
    }
    const named = await ask("GET", "/", { host: `Console.example:${consolePort}` });
    assert.ok(named.text.includes(`content="http://Console.example:${service.port}"`));
  });

  it("leaves the port of the service without a console", async () => {
    const page = await service.request("GET", "/", { headers: { accept: "text/html" } });
    assert.ok(page.text.includes("/openapi.json") && !page.text.includes("script"));
    assert.equal((await service.request("GET", "/console/logo")).status, 404);
  });

  it("cannot be reached by tasks by a permitted name that becomes this machine", async (t) => {
    if (!(await lookup(hostname()).catch(() => null))) return t.skip("this machine cannot resolve its own name");
    const answer = await service.run("demo", `await fetch("http://${hostname()}:${consolePort}/")`);
    assert.equal(answer.status, 500);
    assert.match(answer.text, /this service/);
  });

  it("keeps its token from the page of a task at the port of the service, in a separate tab and as a popup", async () => {
    const url = `http://127.0.0.1:${consolePort}/`;
    const html = JSON.stringify(hostilePage(url));
    const code = `() => new Response(${html}, { headers: { "content-type": "text/html" } })`;
    await service.request("PUT", "/api/tasks/evil/page", { json: { code, public: true } });
    const evil = `${service.url}/api/run/evil/page`;
    await using tab = await openConsole(browser, url, service.admin);
    const { page, context } = tab;
    const tokens = await issuedTokens();
    const separate = await context.newPage();
    await separate.goto(evil);
    assert.deepEqual(await spoils(separate), {});
    const opened = context.waitForEvent("page");
    await page.evaluate(`void open(${JSON.stringify(evil)})`);
    assert.deepEqual(await spoils(await opened), {});
    assert.ok(page.url().startsWith(url));
    assert.equal(await page.evaluate('sessionStorage.getItem("caisson.token")'), service.admin);
    assert.deepEqual(await issuedTokens(), tokens);
  });

  it("is embedded by the origins that the operator names, with the token of a customer, and by no other", async () => {
    const token = await service.issue({ containers: ["shop"], can: ["run", "limits", "logs"] });
    const embedded = encodeURIComponent(`http://127.0.0.1:${consolePort}/#token=${token}`);
    await using tab = await openTab(browser, `http://localhost:${applicationPort}/?${embedded}`);
    const frame = tab.page.frameLocator("iframe");
    await frame.getByRole("heading", { level: 1 }).waitFor();
    await frame.getByRole("link", { name: "Playground", exact: true }).waitFor();
    await using other = await openTab(browser, `http://127.0.0.1:${applicationPort}/?${embedded}`);
    await settled(other.page);
    assert.ok(other.complaints.some((line) => line.includes("frame-ancestors")));
    assert.equal(await other.page.frameLocator("iframe").getByRole("heading").count(), 0);
  });
});

describe("a console with a separate port, over TLS and with few connections", () => {
  it("opens with the certificate of the service, and one network that takes its connections leaves those of others", async () => {
    await using secure = { ...(await makeHome()), descriptors: DESCRIPTORS };
    const [cert, key] = ["cert.pem", "key.pem"].map((name) => path.join(secure.data, "..", name)) as [string, string];
    await Promise.all([writeFile(cert, SELF_SIGNED.cert), writeFile(key, SELF_SIGNED.key)]);
    const port = await freePort();
    const tls = ["--tls-cert", cert, "--tls-key", key, "--max-containers", "8"];
    const other = await startService([...NO_WALL, ...tls, "--console-port", String(port)], secure);
    const sockets: Socket[] = [];
    try {
      const url = `https://127.0.0.1:${port}/`;
      assert.match(other.stdout(), new RegExp(`^console: ${url}$`, "m"));
      await using tab = await openTab(browser, "about:blank", { ignoreHTTPSErrors: true });
      const { page } = tab;
      await page.goto(url);
      await page.getByLabel("Token").fill(other.admin);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      await openPage(page, "Containers");
      assert.deepEqual(tab.complaints, []);

      for (let count = 0; count < MANY; count++) {
        const socket = connect(port, "127.0.0.1");
        socket.on("error", () => {}).resume();
        sockets.push(socket);
      }
      await until(() => sockets.some(({ destroyed }) => destroyed), "connections are closed");
      assert.equal(await isSecured(port, "127.0.0.1"), false);
      assert.equal(await isSecured(port, "127.0.0.2"), true);
      // The share of the network is one for both ports.
      assert.equal(await isSecured(other.port, "127.0.0.1"), false);
      for (const socket of sockets) socket.destroy();
      await until(() => isSecured(port, "127.0.0.1"), "the network is served again");
    } finally {
      for (const socket of sockets) socket.destroy();
      await other.stop();
    }
  });
});

describe("wrong settings of the console", () => {
  const wrong: readonly [flags: readonly string[], expected: RegExp][] = [
    [["--console-logo", "/no/such/logo.svg"], /--console-logo .*ENOENT/],
    [["--console-logo", "logo.gif"], /--console-logo .*\.svg or \.png/],
    [["--console-accent", "red"], /--console-accent.*#7a3cff/],
    [["--console-frame-ancestors", "https://a.example/path"], /--console-frame-ancestors.*http/],
    [["--console-service-url", "https://a.example"], /--console-service-url needs --console-port/],
    [["--console-port", "70000"], /--console-port/],
  ];
  it("end the start with the name of the flag", async () => {
    await using folder = await mkdtempDisposable(path.join(tmpdir(), "caisson-logo-"));
    const large = path.join(folder.path, "large.png");
    await writeFile(large, Buffer.alloc(70_000));
    const all = [...wrong, [["--console-logo", large], /--console-logo .*70000 bytes/] as const];
    await Promise.all(
      all.map(async ([flags, expected]) => {
        await using other = await makeHome();
        const child = caisson(other, "serve", "--port", "0", ...NO_WALL, ...flags);
        let output = "";
        child.stderr!.setEncoding("utf8").on("data", (text: string) => (output += text));
        const [code] = (await once(child, "close")) as [number];
        assert.notEqual(code, 0);
        assert.match(output, expected);
      }),
    );
  });

  it("name the port that is in use", async () => {
    await using other = await makeHome();
    const child = caisson(other, "serve", "--port", "0", ...NO_WALL, "--console-port", String(consolePort));
    let output = "";
    child.stderr!.setEncoding("utf8").on("data", (text: string) => (output += text));
    await once(child, "close");
    assert.match(output, /--console-port is in use/);
  });
});

/** Returns the tokens of the service, each with its revocation. */
async function issuedTokens(): Promise<unknown> {
  const { tokens } = (await service.request("GET", "/api/tokens")).json() as {
    tokens: { jti: string; revoked: unknown }[];
  };
  return tokens.map(({ jti, revoked }) => [jti, revoked]);
}

/** Returns whether a client of this address finishes a TLS handshake. */
async function isSecured(port: number, localAddress: string): Promise<boolean> {
  const transport = connect({ port, host: "127.0.0.1", localAddress });
  const socket = connectSecurely({ socket: transport, rejectUnauthorized: false });
  const event = await once(socket, "secureConnect").catch(() => null);
  socket.destroy();
  return event !== null;
}
