import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, it, type TestContext } from "node:test";

import { NodeCredentials, SCHEME } from "../../src/nodes/node-credential.ts";
import type { Peer } from "../../src/nodes/node-registry.ts";
import { PeerEvents } from "../../src/nodes/peer-events.ts";
import type { Reader } from "../../src/nodes/reader.ts";
import type { OtherNodes } from "../../src/records/tail.ts";
import { until } from "../contract/until.ts";
import { listening } from "../http/listening.ts";
import { testTokens } from "../tokens/support.ts";

type Answering = (request: IncomingMessage, response: ServerResponse) => void;

const NODE = "0123456789ab";
const FAMILY = "11111111-1111-4111-8111-111111111111";
const READER: Reader = {
  ...{ jti: FAMILY, family: FAMILY, admin: false, containers: ["demo"], can: ["logs"] as const, client: "" },
};
const LINE = { container: "demo", run: `${NODE}-1`, atMs: 1.5, level: "info", text: "hello" };
const BEGIN = "retry: 2000\n\nid: aaaaaaaaaaaa-0\n\n";

function event(name: string, data: unknown, at = 1): string {
  return `id: aaaaaaaaaaaa-${at}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Sends a text, and leaves the stream open. */
function sending(text: string): Answering {
  return (_, response) =>
    void response.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8" }).write(text);
}

interface Follower {
  readonly follow: (family?: string) => OtherNodes;
  readonly received: (readonly [name: string, data: object])[];
  readonly silent: string[];
  readonly peers: Peer[];
}

async function following(t: TestContext, answer: Answering, url?: null): Promise<Follower> {
  const tokens = await testTokens(t);
  const port = await listening(t, { request: answer });
  const peers = [{ process: NODE, name: "n2", url: url === null ? null : `http://127.0.0.1:${port}`, isAlive: true }];
  const silent: string[] = [];
  const received: Follower["received"] = [];
  const events = new PeerEvents({
    peers: () => peers,
    credentials: new NodeCredentials(tokens.keys, "5e1f5e1f5e1f", () => tokens.clock.nowMs),
    onSilent: (_, { message }) => silent.push(message),
    lookMs: 5,
  });
  const follow = (family = FAMILY): OtherNodes => {
    const scope = { reader: { ...READER, jti: family, family }, has: (name: string) => name === "demo" };
    const others = events.follow(scope, (...each) => received.push(each));
    t.after(() => others.close());
    return others;
  };
  return { follow, received, silent, peers };
}

describe("the events of another node", () => {
  it("are asked for with a credential for that node, and arrive", async (t) => {
    const asked: IncomingMessage[] = [];
    const record = { container: "demo", run: `${NODE}-1`, status: "ok", error: null };
    const text = BEGIN + event("console", LINE) + event("record", record, 2) + event("lost", { detail: "too fast" }, 3);
    const { follow, received, silent } = await following(t, (request, response) => {
      asked.push(request);
      sending(text)(request, response);
    });
    const others = follow();
    await others.ready;
    await until(() => received.length === 3, "all events have arrived");
    assert.deepEqual(received, [
      ["console", LINE],
      ["record", record],
      ["lost", { detail: "too fast" }],
    ]);
    assert.deepEqual([others.missing, silent, asked[0]!.url], [[], [], "/api/events"]);
    const [scheme, credential] = asked[0]!.headers.authorization!.split(" ");
    const claims = JSON.parse(Buffer.from(credential!.split(".")[1]!, "base64url").toString()) as object;
    assert.equal(scheme, SCHEME);
    assert.partialDeepStrictEqual(claims, { aud: NODE, reader: READER });
  });

  it("go on after the last one if the stream breaks, and nothing is reported as missing", async (t) => {
    const after: unknown[] = [];
    const { follow, received } = await following(t, (request, response) => {
      after.push(request.headers["last-event-id"]);
      sending(BEGIN.replace("-0", `-${after.length}`) + event("console", LINE, after.length + 1))(request, response);
      if (after.length < 3) response.end();
    });
    follow();
    await until(() => received.length === 3, "three streams have sent an event");
    assert.deepEqual(after, [undefined, "aaaaaaaaaaaa-2", "aaaaaaaaaaaa-3"]);
    assert.ok(received.every(([name]) => name === "console"));
  });

  it("are reported as missing, once, while the node sends something else", async (t) => {
    const hostile: Record<string, Answering> = {
      "a status": (_, response) => void response.writeHead(403).end(),
      "a page": (_, response) => void response.writeHead(200, { "Content-Type": "text/html" }).end("<html>"),
      "no JSON": sending(`${BEGIN}event: console\ndata: {\n\n`),
      "another event": sending(BEGIN + event("page", LINE)),
      "another field": sending(`${BEGIN}x: y\n\n`),
      "another container": sending(BEGIN + event("console", { ...LINE, container: "foreign" })),
      "a run of another container": sending(BEGIN + event("record", { ...LINE, container: "foreign", status: "ok" })),
      "a line with more members": sending(BEGIN + event("console", { ...LINE, x: 1 })),
      "a long text": sending(BEGIN + event("console", { ...LINE, text: "a".repeat(20_001) })),
      "a long line": sending(`${BEGIN}data: ${"a".repeat(256 * 2 ** 10)}`),
      "an id of another form": sending("id: x\n\n"),
      "chunks of one byte": (_, response) => {
        response.writeHead(200, { "Content-Type": "text/event-stream" }).flushHeaders();
        response.socket!.write("1\r\n:\r\n1\r\n\n\r\n".repeat(3_000));
      },
    };
    for (const [what, answer] of Object.entries(hostile)) {
      const { follow, received, silent } = await following(t, answer);
      const others = follow();
      await until(() => silent.length >= 3, `${what}: the node was asked again`);
      const detail = "the events of the node n2 are missing: it does not answer";
      assert.deepEqual(new Set(received.map(([name]) => name)), new Set(["lost"]), what);
      assert.ok(
        received.some(([, each]) => (each as { detail: string }).detail === detail),
        what,
      );
      others.close();
    }
  });

  it("arrive again after the node was away, from a node that starts later, and no more when the scope is closed", async (t) => {
    const open: ServerResponse[] = [];
    const { follow, received, peers } = await following(t, (request, response) => {
      open.push(response);
      sending(BEGIN + event("console", LINE))(request, response);
    });
    const peer = peers.pop()!;
    const others = follow();
    await others.ready;
    assert.equal(received.length, 0);
    peers.push(peer);
    await until(() => received.length === 1, "the node is followed");
    peers.pop();
    open[0]!.destroy();
    await until(() => open[0]!.closed, "the stream has ended");
    peers.push(peer);
    await until(() => received.filter(([name]) => name === "console").length === 2, "the node is followed again");
    assert.deepEqual(others.missing, []);
    others.close();
    await until(() => open[1]!.closed, "the stream has ended");
  });

  it("are reported as missing if the node cannot be asked", async (t) => {
    const { follow } = await following(t, sending(BEGIN), null);
    const others = follow();
    await others.ready;
    assert.deepEqual(others.missing, ["the events of the node n2 are missing: it has no --node-url, or other keys"]);
  });

  it("come on at most 32 streams for one token family, which leaves streams to others", async (t) => {
    const { follow, received } = await following(t, sending(BEGIN));
    const own = Array.from({ length: 33 }, () => follow());
    const other = follow("22222222-2222-4222-8222-222222222222");
    await Promise.all([...own, other].map(({ ready }) => ready));
    assert.equal(own.filter(({ missing }) => missing.length > 0).length, 1);
    assert.deepEqual(other.missing, []);
    const detail = "the events of the node n2 are missing: too many streams of nodes are open";
    assert.deepEqual(received, [["lost", { detail }]]);
  });
});
