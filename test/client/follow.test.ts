import assert from "node:assert/strict";
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";

import { Caisson, CaissonError, type ContainerEvent, type FollowOptions } from "../../client/src/index.ts";
import { serveCode } from "../contract/code-server.ts";
import { type Service, shareService } from "../contract/service.ts";
import { freePort } from "../ports.ts";

let service: Service;
let caisson: Caisson;

before(async () => {
  service = await shareService();
  caisson = new Caisson({ url: service.url, token: service.admin });
});
after(() => service.stop());

/** A proxy in front of the service whose connections can be cut. */
interface Proxy extends AsyncDisposable {
  readonly url: string;
  cut(): void;
}

async function startProxy(): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(service.port, "127.0.0.1");
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => other.destroy());
      socket.pipe(other);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    [Symbol.asyncDispose]: async () => {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}

/** Returns the text of an event: of its line, of the result of its run, or why events are lost. */
function textOf(event: ContainerEvent): string {
  if (event.type === "console") return event.text;
  return event.type === "record" ? event.record.status : event.detail;
}

/** Answers each request with the next of these, and the last ones with 403. */
function answering(...answers: readonly RequestListener[]): RequestListener {
  const left = [...answers];
  return (request, response) => {
    const answer = left.shift();
    if (answer) return answer(request, response);
    response.writeHead(403, { "content-type": "application/problem+json" });
    return response.end(JSON.stringify({ code: "token_invalid", detail: "the token has expired" }));
  };
}

/** Answers with this text of an event stream, and ends the answer unless it stays open. */
function stream(text: string, staysOpen: boolean = false): RequestListener {
  return (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(text);
    if (!staysOpen) response.end();
  };
}

function printTwoLines(): void {
  void caisson.run("demo", 'console.log("one"); console.error("two")');
}

function runInTwo(): void {
  void caisson.run("one", "console.log(1)").then(() => caisson.run("two", "2"));
}

async function followed(url: string, options: FollowOptions): Promise<{ texts: string[]; error: unknown }> {
  const texts: string[] = [];
  try {
    for await (const event of new Caisson({ url }).runs.follow("demo", options)) texts.push(textOf(event));
  } catch (error) {
    return { texts, error };
  }
  return { texts, error: null };
}

describe("runs.follow", () => {
  it("returns the lines and the ended runs of a container", async () => {
    const events: ContainerEvent[] = [];
    for await (const event of caisson.runs.follow("demo", { onOpen: printTwoLines })) {
      events.push(event);
      if (event.type === "record") break;
    }
    assert.deepEqual(events.map(textOf), ["one", "two", "ok"]);
    const [first, , last] = events;
    assert.ok(first?.type === "console" && first.level === "info" && first.atMs >= 0);
    assert.ok(last?.type === "record" && last.record.run === first.run);
    // The id of an event continues after it.
    for await (const event of caisson.runs.follow("demo", { lastEventId: first.id! })) {
      assert.equal(textOf(event), "two");
      break;
    }
  });

  it("returns the lines and the ended runs of all containers of the token, each with its container", async () => {
    const events: ContainerEvent[] = [];
    for await (const event of caisson.runs.followAll({ onOpen: runInTwo })) {
      events.push(event);
      if (events.length === 3) break;
    }
    const containers = events.map((event) => (event.type === "record" ? event.record.container : event));
    assert.deepEqual([containers[1], containers[2]], ["one", "two"]);
    assert.ok(events[0]?.type === "console" && events[0].container === "one");
  });

  it("connects again when the connection is lost, and misses nothing", async () => {
    await using proxy = await startProxy();
    const texts: string[] = [];
    let opened = 0;
    const onOpen = (): void => {
      opened += 1;
      if (opened === 1) void caisson.run("cut", 'console.log("before")');
    };
    for await (const event of new Caisson({ url: proxy.url, token: service.admin }).runs.follow("cut", { onOpen })) {
      texts.push(textOf(event));
      if (texts.length === 2) {
        proxy.cut();
        await caisson.run("cut", 'console.log("between")');
      }
      if (texts.length === 4) break;
    }
    assert.deepEqual([texts, opened], [["before", "ok", "between", "ok"], 2]);
  });

  it("ends with an error when its token is revoked, and when its signal is aborted", async () => {
    const { token, jti } = await caisson.tokens.issue({ containers: ["demo"], can: ["logs"] });
    const follower = new Caisson({ url: service.url, token });
    const onOpen = (): void => void caisson.tokens.revoke(jti);
    await assert.rejects(follower.runs.follow("demo", { onOpen }).next(), { code: "token_invalid", status: 403 });
    await assert.rejects(follower.runs.follow("demo").next(), { code: "token_invalid" });
    const abort = new AbortController();
    const aborted = caisson.runs.follow("demo", { signal: abort.signal, onOpen: () => abort.abort("enough") });
    await assert.rejects(aborted.next(), { code: "aborted", cause: "enough" });
  });

  it("fails at once if it cannot connect at first", async () => {
    const { error } = await followed(`http://127.0.0.1:${await freePort()}`, {});
    assert.ok(error instanceof CaissonError && error.code === "unreachable");
  });

  it("connects again after silence, a busy service, a stopped node and a cut event, until the answer is final", async () => {
    const server = await serveCode(
      answering(
        stream('retry: 1\n\nid: a-1\nevent: console\ndata: {"text":"one"}\n\n', true),
        (_, response) => response.writeHead(503, { "content-type": "text/html" }).end("busy"),
        stream(
          'id: a-2\nevent: lost\ndata: {"detail":"lost"}\n\nevent: end\ndata: {"code":"draining","detail":"stop"}\n\n',
        ),
        stream('id: a-3\nevent: console\ndata: {"text":"cu'),
      ),
    );
    try {
      const { texts, error } = await followed(server.url, { silenceMs: 100 });
      assert.deepEqual(texts, ["one", "lost"]);
      assert.ok(error instanceof CaissonError && error.code === "token_invalid" && error.status === 403);
      const ids = server.requests.map(({ headers }) => headers["last-event-id"]);
      assert.deepEqual(ids, [undefined, "a-1", "a-1", "a-2", "a-2"]);
    } finally {
      await server.close();
    }
  });

  it("pauses before it connects again, whatever pause the service requests", async () => {
    const at: number[] = [];
    const closed = stream("retry: 0\n\n");
    const noted: RequestListener = (request, response) => {
      at.push(performance.now());
      closed(request, response);
    };
    const server = await serveCode(answering(noted, noted, noted));
    try {
      const { error } = await followed(server.url, {});
      assert.ok(error instanceof CaissonError && error.code === "token_invalid");
      assert.ok(at[2]! - at[1]! > 200 && at[1]! - at[0]! > 200, at.join(" "));
    } finally {
      await server.close();
    }
  });

  it("ends with the connection if it must not connect again", async () => {
    const text = 'event: lost\ndata: {"detail":"lost"}\n\nevent: end\ndata: {"code":"draining","detail":"stop"}\n\n';
    const server = await serveCode(answering(stream(text)));
    try {
      assert.deepEqual(await followed(server.url, { reconnect: false }), { texts: ["lost"], error: null });
    } finally {
      await server.close();
    }
  });
});
