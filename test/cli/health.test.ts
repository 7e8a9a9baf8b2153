import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";

import { VERSION } from "../../src/http/headers.ts";
import { leave, makeHome, type Home, type Service, startService } from "../contract/service.ts";
import { command, type Ended } from "./command.ts";

let home: Home;
let service: Service;

before(async () => {
  home = await makeHome();
  service = await startService([], home);
});
after(() => leave(service, home));

describe("health", () => {
  it("prints the status of the service with exit code 0, found by flags or by variables", async () => {
    const stdout = `ok: caisson ${VERSION}, isolation namespaces\n`;
    const expected = { code: 0, stdout, stderr: "" };
    assert.deepEqual(await command(["health", "--port", String(service.port)]), expected);
    const everywhere = { CAISSON_PORT: String(service.port), CAISSON_HOST: "0.0.0.0", CAISSON_INSECURE_HTTP: "true" };
    assert.deepEqual(await command(["health"], everywhere), expected);
  });

  it("ends with exit code 4 if the service accepts no runs", async () => {
    const ended = await healthOf({ status: "draining", isolation: "namespaces", version: "1" });
    assert.deepEqual(ended, { code: 4, stdout: "draining: caisson 1, isolation namespaces\n", stderr: "" });
  });

  it("ends with exit code 4 if another program answers, or none", async () => {
    for (const ended of [await healthOf(["hello"]), await healthOf(null), await command(["health", "--port", "9"])]) {
      assert.equal(ended.code, 4);
      assert.match(ended.stderr, /^caisson: unreachable: no caisson answers at http:\/\/127\.0\.0\.1:\d+: .*\n/);
    }
  });

  it("names the protocol if the service speaks http, and not https", async () => {
    const { code, stderr } = await command(["health", "--url", `https://127.0.0.1:${service.port}`]);
    assert.equal(code, 4);
    assert.equal(
      stderr,
      `caisson: unreachable: no caisson answers at https://127.0.0.1:${service.port}: the answer is not encrypted\ncaisson: Check the url: this service may speak http, and not https.\n`,
    );
  });
});

/** Runs health at a server that answers all requests with this body. */
async function healthOf(body: unknown): Promise<Ended> {
  const server = createServer((_, response) => response.end(JSON.stringify(body))).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    return await command(["health", "--port", String((server.address() as AddressInfo).port)]);
  } finally {
    server.close();
  }
}
