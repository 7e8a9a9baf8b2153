import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";

import { EventStream, EventStreams } from "../../../src/http/api/event-streams.ts";
import { revokeKey, rotateKeys } from "../../../src/tokens/keys/key-rotation.ts";
import { respond } from "../../contract/http.ts";
import { assertProblem } from "../../contract/problem.ts";
import { until } from "../../contract/until.ts";
import { BOUNDS } from "../../records/bounds.ts";
import { lastIdOf, parseEvents, type ReceivedEvent } from "../../records/event-stream.ts";
import { runOf } from "../../records/run-of.ts";
import { testTokens } from "../../tokens/support.ts";
import { listening } from "../listening.ts";
import { serveRecords, type ServedRecords } from "./served-records.ts";

interface Followed {
  text(): string;
  events(): ReceivedEvent[];
  readonly response: IncomingMessage;
  readonly ended: Promise<unknown>;
}

async function follow(
  { open }: ServedRecords,
  token: string,
  headers: Record<string, string> = {},
  target: string = "/api/runs/demo/events",
): Promise<Followed> {
  const response = await open(target, token, { headers });
  assert.equal(response.statusCode, 200);
  let text = "";
  response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  response.on("error", () => {});
  const ended = once(response, "close");
  await until(() => text.includes("id: "), "the stream has begun");
  return { text: () => text, events: () => parseEvents(text), response, ended };
}

function print({ records }: ServedRecords, text: string, container: string = "demo"): void {
  records.printed(container, "00000000cafe-1", { atMs: 1, level: "info", text });
}

async function reader({ issue }: ServedRecords, claims: object = {}): Promise<{ token: string; jti: string }> {
  return issue({ containers: ["demo"], can: ["logs"], ...claims });
}

describe("GET /api/runs/{container}/events", () => {
  it("streams lines and records, and continues after Last-Event-ID", async (t) => {
    const served = await serveRecords(t);
    const { token } = await reader(served);
    const first = await follow(served, token);
    assert.match(first.response.headers["content-type"]!, /^text\/event-stream/);
    assert.equal(first.response.headers["cache-control"], "no-store");
    assert.equal(first.response.headers["access-control-allow-origin"], "*");
    print(served, "one");
    const run = runOf({ printed: ["one"] });
    served.records.ended(run);
    await until(() => first.events().length === 2, "both events have arrived");
    first.response.destroy();
    await first.ended;
    print(served, "two");
    const second = await follow(served, token, { "last-event-id": lastIdOf(first.text()) });
    await until(() => second.events().length === 1, "the missed event has arrived");
    assert.equal((JSON.parse(second.events()[0]!.data) as { text: string }).text, "two");
    assert.equal((JSON.parse(first.events()[1]!.data) as { run: string }).run, run.run);
    const late = await follow(served, token, { "last-event-id": "000000000000-7" });
    await until(() => late.events().length === 1, "the event has arrived");
    assert.equal(late.events()[0]!.name, "lost");
  });

  it("limits the streams of a token with all tokens below it, and refuses the next one with a problem", async (t) => {
    const served = await serveRecords(t);
    const head = await served.tokens.issue({ containers: ["demo"], can: ["logs", "issue"], depth: 1 }, "me");
    const caller = await served.tokens.verifier.verify(head.token);
    const streams: Followed[] = [];
    for (let at = 0; at < 50; at++) {
      const child = await served.tokens.issue({ containers: ["demo"], can: ["logs"] }, caller);
      if (at < 32) streams.push(await follow(served, child.token));
      else assertProblem(await served.get("/api/runs/demo/events", child.token), 429, "container_busy");
    }
    assertProblem(await served.get("/api/runs/demo/events", head.token), 429, "container_busy");
    const other = await follow(served, (await reader(served)).token);
    streams[0]!.response.destroy();
    await until(async () => {
      const response = await served.open("/api/runs/demo/events", head.token);
      response.destroy();
      return response.statusCode === 200;
    }, "the place is free again");
    assert.deepEqual(other.events(), []);
  });

  it("cuts a client that does not read", async (t) => {
    const served = await serveRecords(t);
    const { token } = await reader(served);
    const socket = connect(served.port, "127.0.0.1");
    t.after(() => socket.destroy());
    const lines = ["GET /api/runs/demo/events HTTP/1.1", "Host: a", `Authorization: Bearer ${token}`, "X-Name: slow"];
    socket.write([...lines, "", ""].join("\r\n"));
    await once(socket, "readable");
    const other = await follow(served, token);
    // The slow client reads nothing, so the buffers of the kernel become full first.
    await until(() => {
      for (let line = 0; line < 100; line++) print(served, "x".repeat(1_000));
      return served.closed.includes("slow");
    }, "the slow client is cut");
    socket.resume();
    await once(socket, "close");
    print(served, "the end");
    await until(() => other.text().includes('"the end"'), "the other client has the latest line");
  });

  it("ends when the token is revoked, or a token above it", async (t) => {
    const served = await serveRecords(t);
    const head = await served.tokens.issue({ containers: ["demo"], can: ["logs", "issue"], depth: 1 }, "me");
    const child = await served.tokens.issue(
      { containers: ["demo"], can: ["logs"] },
      await served.tokens.verifier.verify(head.token),
    );
    const stranger = await reader(served);
    const [below, other] = [await follow(served, child.token), await follow(served, stranger.token)];
    await served.tokens.revoke(head.jti, "me");
    await below.ended;
    const end = below.events().at(-1)!;
    assert.equal(end.name, "end");
    assert.match(end.data, /"code":"token_invalid".*revoked/);
    assertProblem(await served.get("/api/runs/demo/events", child.token), 403, "token_invalid");
    print(served, "later");
    await until(() => other.events().length === 1, "the other client still receives events");
    assert.ok(!below.text().includes("later"));
  });

  it("ends when the token expires", async (t) => {
    const served = await serveRecords(t);
    const { token } = await reader(served, { expiresIn: "1h" });
    const stream = await follow(served, token);
    served.tokens.clock.nowMs += 3_700_000;
    await stream.ended;
    assert.match(stream.events().at(-1)!.data, /"code":"token_invalid".*expired/);
  });

  it("ends when a key of the token is removed", async (t) => {
    const served = await serveRecords(t);
    const { keys, folder, clock } = served.tokens;
    const { token } = await reader(served);
    const stream = await follow(served, token);
    const file = join(folder, "keys.json");
    const { kid } = keys.signing;
    await rotateKeys(file, clock.nowMs);
    await keys.reload();
    print(served, "still here");
    await until(() => stream.events().length === 1, "a rotation ends no stream");
    await revokeKey(file, kid, clock.nowMs);
    await keys.reload();
    await stream.ended;
    assert.match(stream.events().at(-1)!.data, /"code":"token_invalid".*key/);
  });

  it("ends when the service stops", async (t) => {
    const served = await serveRecords(t);
    const { token } = await reader(served);
    const stream = await follow(served, token);
    print(served, "the last line");
    served.records.tail.close();
    await stream.ended;
    assert.deepEqual(
      stream.events().map(({ name }) => name),
      ["console", "end"],
    );
    assertProblem(await served.get("/api/runs/demo/events", token), 503, "draining");
  });
});

describe("GET /api/events", () => {
  it("streams the events of the containers that the token permits, and of no others", async (t) => {
    const served = await serveRecords(t);
    const { token } = await reader(served, { containers: ["demo", "shop-*"] });
    const admin = await served.tokens.issue({ admin: true }, "me");
    const [own, all] = [
      await follow(served, token, {}, "/api/events"),
      await follow(served, admin.token, {}, "/api/events"),
    ];
    for (const container of ["demo", "demos", "shop-1", "foreign"]) print(served, `of ${container}`, container);
    await until(() => all.events().length === 4, "the administrator has all events");
    await until(() => own.events().length === 2, "the token has its events");
    const lines = own.events().map(({ data }) => JSON.parse(data) as { container: string; text: string });
    assert.deepEqual(
      lines.map(({ container, text }) => [container, text]),
      [
        ["demo", "of demo"],
        ["shop-1", "of shop-1"],
      ],
    );
    await served.tokens.revoke((await served.tokens.verifier.verify(token)).claims.jti, "me");
    await own.ended;
    assert.equal(own.events().at(-1)!.name, "end");
  });

  it("needs the verb logs", async (t) => {
    const served = await serveRecords(t);
    const { token } = await reader(served, { can: ["run"] });
    assertProblem(await served.get("/api/events", token), 403, "token_forbidden");
  });
});

it("an idle stream has comments, so that proxies keep its connection", async (t: TestContext) => {
  const tokens = await testTokens(t);
  const caller = await tokens.verifier.verify(
    (await tokens.issue({ containers: ["demo"], can: ["logs"] }, "me")).token,
  );
  const streams = new EventStreams(tokens.store, tokens.verifier, 5);
  const port = await listening(t, {
    request: (_, response) => {
      streams.add(new EventStream(caller, () => response.writeHead(200), BOUNDS.eventHistory), () => {});
    },
  });
  const response = await respond(port, "GET", "/", {});
  let text = "";
  response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  await until(() => text.split(":\n\n").length > 3, "three comments have arrived");
  assert.deepEqual(parseEvents(text), []);
  await tokens.revoke(caller.claims.jti, "me");
  await once(response, "close");
  assert.equal(parseEvents(text).at(-1)!.name, "end");
});
