import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { copyFile, readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import path from "node:path";
import { text } from "node:stream/consumers";
import { it } from "node:test";

import { type Home, makeHome, NO_WALL, startService } from "../contract/service.ts";
import { until } from "../contract/until.ts";
import { freePort } from "../ports.ts";
import { missing, startRedis } from "../redis/server.ts";

const skip = (await missing("redis-server")) || (await missing("openssl"));

interface Page {
  readonly runs: readonly { readonly container: string }[];
  readonly nodes: { readonly asked: number; readonly answered: number };
}

it("nodes ask each other by TLS, and only a node with a certificate that they trust", { skip }, async () => {
  await using redis = await startRedis();
  await using home = await makeHome();
  const trusted = certificate(path.dirname(home.data), "trusted");
  const other = certificate(path.dirname(home.data), "other");
  // The operator's certificates, as in `SSL_CERT_FILE` of OpenSSL. The services of this test inherit it.
  process.env["SSL_CERT_FILE"] = trusted.cert;
  const start = async (
    own: Home,
    pair: Pair,
    ...flags: string[]
  ): Promise<{ port: number; admin: string; stop: () => Promise<void> }> => {
    const port = await freePort();
    const tls = ["--port", String(port), "--tls-cert", pair.cert, "--tls-key", pair.key];
    const node = ["--redis", redis.url, "--node-url", `https://localhost:${port}`];
    return startService([...NO_WALL, ...tls, ...node, ...flags], { ...own, nodeOptions: "--use-openssl-ca" });
  };
  const ask = async (port: number, admin: string, method: string, target: string, body = ""): Promise<string> => {
    const ca = [await readFile(trusted.cert), await readFile(other.cert)];
    const sent = request({
      host: "localhost",
      port,
      method,
      path: target,
      ca,
      headers: { Authorization: `Bearer ${admin}` },
    });
    sent.end(body);
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    return text(answer);
  };

  const first = await start(home, trusted);
  const keys = path.join(path.dirname(home.data), "shared-keys.json");
  await copyFile(path.join(home.data, "keys.json"), keys);
  await using secondHome = await makeHome();
  const second = await start(secondHome, trusted, "--keys", keys);
  const list = async (): Promise<Page> => JSON.parse(await ask(first.port, first.admin, "GET", "/api/runs")) as Page;
  try {
    assert.equal(await ask(second.port, second.admin, "POST", "/api/run/there", "6 * 7"), "42");
    await until(async () => (await list()).nodes.answered === 2, "the nodes ask each other");
    assert.deepEqual(
      (await list()).runs.map(({ container }) => container),
      ["there"],
    );

    await using thirdHome = await makeHome();
    const untrusted = await start(thirdHome, other, "--keys", keys, "--nodes-asked", "1");
    try {
      await until(async () => (await list()).nodes.asked === 3, "the third node is known");
      assert.deepEqual((await list()).nodes, { asked: 3, answered: 2 });
      const page = JSON.parse(await ask(untrusted.port, untrusted.admin, "GET", "/api/runs")) as Page;
      assert.deepEqual(page.nodes, { asked: 3, answered: 2 }, "it asks one of the two others");
    } finally {
      await untrusted.stop();
    }
  } finally {
    await Promise.all([first.stop(), second.stop()]);
  }
});

interface Pair {
  readonly cert: string;
  readonly key: string;
}

function certificate(folder: string, name: string): Pair {
  const [cert, key] = [path.join(folder, `${name}.pem`), path.join(folder, `${name}.key`)];
  const kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  execFileSync("openssl", [...kind, "-keyout", key, "-out", cert, ...subject], { stdio: "ignore" });
  return { cert, key };
}
