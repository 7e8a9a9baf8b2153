import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";

import type { CodeServer } from "./code-server.ts";
import { request } from "./http.ts";
import { scrape } from "./scrape.ts";
import { type SharedService, shareService } from "./service.ts";
import { until } from "./until.ts";

const MIB = 2 ** 20;
const BLANKS = " ".repeat(MIB / 2);

let service: SharedService;
let code: CodeServer;

before(async () => {
  service = await shareService();
  code = service.serveCode((incoming, response) =>
    response.writeHead(incoming.url === "/absent" ? 404 : 200).end("6 * 7"),
  );
  const task = { code: "(context) => String(context.body).length", public: true };
  for (const name of ["open", "recorded"]) {
    const json = name === "open" ? task : { code: task.code, record: "input" };
    assert.equal((await service.request("PUT", `/api/tasks/bodies/${name}`, { json })).status, 201);
  }
});
after(async () => {
  await service.stop();
  await code.close();
});

async function heldBytes(): Promise<number> {
  return (await scrape(service)).sum("caisson_request_body_bytes");
}

/** Sends a request. @returns the status of its answer */
async function send(
  method: string,
  target: string,
  body: string,
  { token, type = "text/plain" }: { token: string | null; type?: string },
): Promise<number> {
  const credential: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
  const headers = { ...credential, "content-type": type, accept: "application/json, text/event-stream" };
  return (await request(service.port, method, target, { headers, body })).status;
}

/** A message of MCP that runs code. */
function callOf(text: string): string {
  const params = { name: "run_code", arguments: { container: "bodies", code: text } };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
}

/** Fails if the service still holds a body. The answer may arrive before the service has ended the request. */
async function assertNoneHeld(what: string): Promise<void> {
  await until(async () => (await heldBytes()) === 0, `no body is held after ${what}`);
}

describe("the memory of a request body is given back", () => {
  it("when its client leaves before its end; until then it counts", async () => {
    const socket = connect(service.port, "127.0.0.1");
    socket.on("error", () => {});
    await once(socket, "connect");
    const head = `POST /api/run/bodies HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.admin}\r\n`;
    socket.write(`${head}Content-Length: ${MIB}\r\n\r\n${BLANKS}`);
    await until(async () => (await heldBytes()) >= BLANKS.length, "the body counts");
    socket.destroy();
    await assertNoneHeld("the client has left");
  });

  it("when it is blank and task_url names the code, whatever the fetch returns", async () => {
    for (const [url, status] of [
      [`${code.url}/`, 200],
      [`${code.url}/absent`, 400],
      ["ftp://x", 400],
    ] as const) {
      const target = `/api/run/bodies?task_url=${encodeURIComponent(url)}`;
      assert.equal(await send("POST", target, BLANKS, { token: service.admin }), status, url);
      assert.equal(await send("POST", target, "  ", { token: service.admin }), status, url);
      await assertNoneHeld(`a blank body with ${url}`);
    }
  });

  it("after each other outcome of a run", async () => {
    const token = await service.issue({ containers: ["bodies"] });
    const spent = await service.issue({ containers: ["bodies"], limits: { token: { month: 1 } } });
    const url = encodeURIComponent(`${code.url}/`);
    const pinned = await service.issue({ containers: ["bodies"], code: { url: `${code.url}/` } });
    const run = "/api/run/bodies";
    const comment = `// ${"x".repeat(MIB / 2)}\n`;
    const json = JSON.stringify({ code: "6 * 7", data: "x".repeat(MIB / 2) });
    for (const [method, target, body, options, status] of [
      ["POST", run, `${comment}6 * 7`, { token }, 200],
      ["POST", run, `${comment}throw new Error("no")`, { token }, 500],
      ["POST", run, `${comment}6 *`, { token }, 400],
      ["POST", run, BLANKS, { token }, 400],
      ["POST", run, comment.repeat(3), { token }, 400],
      ["POST", `${run}?task_url=${url}`, `${comment}6 * 7`, { token }, 400],
      ["POST", run, json, { token, type: "application/json" }, 200],
      ["POST", run, `${json}}`, { token, type: "application/json" }, 400],
      ["POST", `/api/runs/bodies`, json, { token, type: "application/json" }, 200],
      ["POST", run, BLANKS, { token: pinned }, 200],
      ["POST", run, json, { token: pinned, type: "application/json" }, 200],
      ["POST", `${run}?task_url=${url}`, BLANKS, { token: pinned }, 400],
      ["POST", "/api/run/elsewhere", comment, { token }, 403],
      ["POST", run, comment, { token: null }, 403],
      ["POST", `${run}/none`, comment, { token }, 404],
      ["POST", `${run}/open`, comment, { token: null }, 200],
      ["POST", `${run}/open`, json, { token: null, type: "application/json" }, 200],
      ["POST", `${run}/open`, `${json}}`, { token: null, type: "application/json" }, 400],
      ["POST", `${run}/recorded`, json, { token, type: "application/json" }, 200],
      ["OPTIONS", `${run}/open`, json, { token: null, type: "application/json" }, 204],
      ["POST", run, "6 * 7", { token: spent }, 200],
      ["POST", run, comment, { token: spent }, 429],
      ["POST", run, "7", { token: spent }, 429],
      ["POST", `${run}?task_url=${url}`, "  ", { token: spent }, 429],
    ] as const) {
      const what = `${method} ${target} with ${body.length} bytes`;
      assert.equal(await send(method, target, body, options), status, what);
      await assertNoneHeld(what);
    }
  });

  it("after each outcome of a request to the API and of a message of MCP", async () => {
    const padding = "x".repeat(16_384);
    const json = { token: service.admin, type: "application/json" };
    const task = JSON.stringify({ code: `// ${padding}\n6 * 7` });
    for (const [method, target, body, options, status] of [
      ["PUT", "/api/tasks/bodies/kept", task, json, 201],
      ["PUT", "/api/tasks/bodies/kept", `${task}}`, json, 400],
      ["PUT", "/api/tasks/bodies/kept?dryRun=true", task, json, 200],
      ["PUT", "/api/tasks/bodies/kept", task, { token: null }, 403],
      ["POST", "/api/tokens", JSON.stringify({ containers: ["bodies"] }), json, 201],
      ["POST", "/api/tokens", padding, json, 400],
      ["POST", "/api/none", padding, json, 404],
      ["POST", "/mcp", callOf(`// ${padding}\n6 * 7`), json, 200],
      ["POST", "/mcp", callOf(`// ${padding}\n6 *`), json, 200],
      ["POST", "/mcp", padding, json, 400],
      ["POST", "/mcp", JSON.stringify([padding]), json, 400],
    ] as const) {
      const what = `${method} ${target} with ${body.length} bytes`;
      assert.equal(await send(method, target, body, options), status, what);
      await assertNoneHeld(what);
    }
  });
});
