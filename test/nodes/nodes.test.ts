import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { describe, it, type TestContext } from "node:test";

import { runPages } from "../../src/nodes/answers/runs.ts";
import { LINES_TYPE } from "../../src/nodes/ask-node.ts";
import { NodeCredentials, SCHEME } from "../../src/nodes/node-credential.ts";
import type { Peer } from "../../src/nodes/node-registry.ts";
import { Nodes, type NodesOptions } from "../../src/nodes/nodes.ts";
import type { Reader } from "../../src/nodes/reader.ts";
import type { RunQuery } from "../../src/records/query.ts";
import type { RunPage } from "../../src/records/records.ts";
import { until } from "../contract/until.ts";
import { listening } from "../http/listening.ts";
import { freePort } from "../ports.ts";
import { BOUNDS } from "../records/bounds.ts";
import { runOf } from "../records/run-of.ts";
import { testTokens } from "../tokens/support.ts";

type Answering = (request: IncomingMessage, response: ServerResponse) => void;

const SELF = "5e1f5e1f5e1f";
const READER: Reader = {
  ...{ jti: "11111111-1111-4111-8111-111111111111", family: "11111111-1111-4111-8111-111111111111", admin: false },
  ...{ containers: ["demo"], can: ["logs"], client: "192.0.2.7" },
};
const QUERY: RunQuery = {
  ...{ permitted: ["demo"], container: null, task: null, statuses: null, sinceMs: null, untilMs: null },
  ...{ text: null, after: null, count: 3 },
};
const REQUEST = { method: "GET", target: "/api/runs" } as const;
const END = { next: null, omitted: 0, history: "kept" };

function lines(...values: unknown[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join("");
}

function answering(text: string, type = LINES_TYPE): Answering {
  return (_, response) => void response.setHeader("Content-Type", type).end(text);
}

interface Asked {
  readonly nodes: Nodes;
  readonly silent: string[];
  /** Asks all nodes for runs. */
  readonly list: (by?: Reader) => Promise<{ pages: readonly RunPage[]; count: { asked: number; answered: number } }>;
}

const nothing = (): Promise<void> => Promise.resolve();

/** Nodes with these answers. A number is the port of a node without a server. */
async function asking(
  t: TestContext,
  answers: readonly (Answering | number)[],
  answerMs?: number,
  bounds: Partial<NodesOptions["bounds"]> = {},
): Promise<Asked> {
  const tokens = await testTokens(t);
  tokens.clock.nowMs = Date.now();
  const peers: Peer[] = [];
  for (const [at, answer] of answers.entries()) {
    const port = typeof answer === "number" ? answer : await listening(t, { request: answer });
    peers.push({ process: at.toString(16).padStart(12, "0"), url: `http://127.0.0.1:${port}`, isAlive: true });
  }
  const silent: string[] = [];
  const nodes = new Nodes({
    process: SELF,
    bounds: { ...BOUNDS, ...bounds },
    registry: { peers, further: 0, announce: nothing, close: nothing },
    credentials: new NodeCredentials(tokens.keys, SELF, () => tokens.clock.nowMs),
    onSilent: (url, error) => silent.push(`${url}: ${error.message}`),
    ...(answerMs !== undefined && { answerMs }),
  });
  const list: Asked["list"] = async (by = READER) => {
    let pages: readonly RunPage[] = [];
    const count = await nodes.askAll(
      by,
      REQUEST,
      () => runPages(QUERY).newReader(),
      async (answered) => {
        pages = answered;
      },
    );
    return { pages, count };
  };
  return { nodes, silent, list };
}

function entry(startedMs: number, container = "demo"): [number, object] {
  return [startedMs, runOf({ startedMs, container }).record];
}

const slow: Answering = (_, response) => {
  response.writeHead(200, { "Content-Type": LINES_TYPE });
  const timer = setInterval(() => response.write(" "), 20);
  response.on("close", () => clearInterval(timer));
};

describe("asking other nodes", () => {
  it("sends the request as it is, with a credential for that node and with no token", async (t) => {
    const seen: IncomingMessage[] = [];
    const { list } = await asking(t, [
      (request, response) => {
        seen.push(request);
        answering(lines(entry(1), END))(request, response);
      },
    ]);
    const { pages, count } = await list();
    assert.deepEqual(count, { asked: 2, answered: 2 });
    assert.equal(pages[0]?.runs.length, 1);
    assert.equal(seen[0]?.url, "/api/runs");
    const [scheme, credential] = seen[0].headers.authorization!.split(" ");
    assert.equal(scheme, SCHEME);
    const claims = JSON.parse(Buffer.from(credential!.split(".")[1]!, "base64url").toString()) as { aud: string };
    assert.equal(claims.aud, "000000000000");
  });

  it("counts nodes that answer with something else, and returns the answers of the others", async (t) => {
    const hostile: Record<string, Answering> = {
      "a page": answering("<html>", "text/html"),
      "lines of another type": answering(lines(END), "application/json"),
      "no JSON": answering("{\n"),
      "no end": answering(lines(entry(1))),
      "two ends": answering(lines(END, END)),
      "an entry after the end": answering(lines(END, entry(1))),
      "a line without an end": answering(lines(END) + JSON.stringify(END)),
      "another container": answering(lines(entry(1, "foreign"), END)),
      "more entries than asked for": answering(lines(entry(1), entry(2), entry(3), entry(4), END)),
      "a cursor of another form": answering(lines({ ...END, next: "x" })),
      "an unknown history": answering(lines({ ...END, history: "all" })),
      "a fraction of a millisecond": answering(lines([1.5, entry(1)[1]], END)),
      "no UTF-8": (_, response) => {
        response.setHeader("Content-Type", LINES_TYPE).end(Buffer.from([0x22, 0xff, 0x22, 0x0a]));
      },
      "deep nesting": answering(`${"[".repeat(200_000)}\n`),
      "an entry that is nested too deeply to be written": answering(
        `${lines(entry(1)).slice(0, -3)},"x":${"[".repeat(9_000)}${"]".repeat(9_000)}}]\n${lines(END)}`,
      ),
      "an entry of thousands of members": answering(
        lines([1, { ...entry(1)[1], x: Array.from({ length: 10_000 }, () => 1) }], END),
      ),
      "an entry without its times": answering(lines([1, { ...entry(1)[1], ms: null }], END)),
      "an entry with an error that is no text": answering(
        lines([1, { ...entry(1)[1], error: { code: "threw", name: null, message: 1, hint: null, at: null } }], END),
      ),
      "chunks of one byte": (_, response) => {
        response.writeHead(200, { "Content-Type": LINES_TYPE }).flushHeaders();
        const rest = lines(entry(1), END);
        response.socket!.end(`${"1\r\n \r\n".repeat(5_000)}${rest.length.toString(16)}\r\n${rest}\r\n0\r\n\r\n`);
      },
      "an error": (_, response) => void response.writeHead(500).end(),
      "a redirect": (_, response) => void response.writeHead(307, { Location: "http://127.0.0.1:1/" }).end(),
      "a cut answer": (_, response) => {
        response.writeHead(200, { "Content-Type": LINES_TYPE, "Content-Length": "100000" }).write(lines(END));
        setImmediate(() => response.destroy());
      },
      nothing: (request) => void request.socket.destroy(),
    };
    const { list, silent } = await asking(t, [...Object.values(hostile), answering(lines(entry(1), END))]);
    const { pages, count } = await list();
    assert.deepEqual(count, { asked: Object.keys(hostile).length + 2, answered: 2 }, silent.join("\n"));
    assert.equal(pages.length, 1);
    assert.equal(silent.length, Object.keys(hostile).length);
  });

  it("does not wait for a node that is silent, slow or endless", async (t) => {
    let sent = 0;
    const endless: Answering = (_, response) => {
      response.writeHead(200, { "Content-Type": LINES_TYPE });
      const chunk = Buffer.alloc(65_536, "x");
      const write = (): void => {
        if (response.destroyed || sent > 100 * 2 ** 20) return;
        sent += chunk.length;
        response.write(chunk, () => setImmediate(write));
      };
      write();
    };
    const { list } = await asking(t, [() => {}, slow, endless, await freePort(), answering(lines(END))], 500);
    const { pages, count } = await list();
    assert.deepEqual([count, pages.length], [{ asked: 6, answered: 2 }, 1]);
    assert.ok(sent < 16 * 2 ** 20, `${sent} bytes were read`);
  });

  it("reads at most a few megabytes of many lines", async (t) => {
    let sent = 0;
    const line = `${JSON.stringify([1, { container: "demo", run: "00000000cafe-1", x: "x".repeat(60_000) }])}\n`;
    const flood: Answering = (_, response) => {
      response.writeHead(200, { "Content-Type": LINES_TYPE });
      const write = (): void => {
        if (response.destroyed || sent > 100 * 2 ** 20) return;
        sent += line.length;
        response.write(line, () => setImmediate(write));
      };
      write();
    };
    const { list } = await asking(t, [flood]);
    assert.deepEqual((await list()).count, { asked: 2, answered: 1 });
    assert.ok(sent < 32 * 2 ** 20, `${sent} bytes were read`);
  });

  it("does not ask a node again at once that accepts no connection, and reports it once", async (t) => {
    const port = await freePort();
    const { list, silent } = await asking(t, [port]);
    await list();
    let requests = 0;
    const server = createServer(() => requests++).listen(port, "127.0.0.1");
    t.after(() => server.close());
    await once(server, "listening");
    for (let at = 0; at < 5; at++) assert.deepEqual((await list()).count, { asked: 2, answered: 1 });
    assert.deepEqual([requests, silent.length], [0, 1]);
  });

  it("limits the reads of a family, and gives other families their turn", async (t) => {
    let atOnce = 0;
    let most = 0;
    const waiting: (() => void)[] = [];
    const { list } = await asking(t, [
      (_, response) => {
        most = Math.max(most, ++atOnce);
        waiting.push(() => {
          atOnce -= 1;
          answering(lines(END))(response.req, response);
        });
      },
    ]);
    const many = Array.from({ length: 50 }, () =>
      list().then(
        ({ count }) => count.answered,
        ({ code }) => code as string,
      ),
    );
    await until(() => atOnce === 4, "the family has its share");
    const other = list({ ...READER, family: "33333333-3333-4333-8333-333333333333" });
    await until(() => atOnce === 5, "another family is served");
    const timer = setInterval(() => waiting.splice(0).forEach((go) => go()), 5);
    t.after(() => clearInterval(timer));
    const results = await Promise.all(many);
    assert.deepEqual((await other).count, { asked: 2, answered: 2 });
    assert.equal(results.filter((each) => each === 2).length, BOUNDS.familyReads);
    assert.equal(results.filter((each) => each === "token_limited").length, 50 - BOUNDS.familyReads);
    assert.ok(most <= 5, String(most));
  });

  it("asks as many nodes at once as the operator permits, and half of them for a token family", async (t) => {
    let atOnce = 0;
    let most = 0;
    const slowly: Answering = (request, response) => {
      most = Math.max(most, ++atOnce);
      setImmediate(() => {
        atOnce -= 1;
        answering(lines(END))(request, response);
      });
    };
    const { list } = await asking(t, [slowly], undefined, { readsAtOnce: 2, waitingReads: 9, familyReads: 8 });
    const other = { ...READER, family: "33333333-3333-4333-8333-333333333333" };
    await Promise.all(Array.from({ length: 8 }, () => list()));
    assert.equal(most, 1);
    const reads = Array.from({ length: 8 }, () => list());
    const last = list(other);
    await assert.rejects(list({ ...READER, family: "44444444-4444-4444-8444-444444444444" }), { code: "overloaded" });
    await Promise.all([...reads, last]);
    assert.ok(most <= 2);
  });

  it("asks for a run only the node that its id names, and all nodes if none has that name", async (t) => {
    const asked: number[] = [];
    const absent =
      (at: number): Answering =>
      (_, response) => {
        asked.push(at);
        response.writeHead(404).end();
      };
    const { nodes } = await asking(t, [absent(0), absent(1), absent(2)]);
    const find = (run: string): ReturnType<typeof nodes.askFor> =>
      nodes.askFor(run, READER, REQUEST, () => runPages(QUERY).newReader());
    assert.deepEqual(await find("000000000001-1"), { found: null, silent: 0 });
    assert.deepEqual(asked.splice(0), [1]);
    assert.deepEqual(await find("ffffffffffff-1"), { found: null, silent: 0 });
    assert.deepEqual(new Set(asked.splice(0)), new Set([0, 1, 2]));
    assert.deepEqual(await find(`${SELF}-1`), { found: null, silent: 0 });
    assert.deepEqual(asked, []);
  });
});
