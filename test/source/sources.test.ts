import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, it, type TestContext } from "node:test";

import { EgressDenied, type EgressPolicy } from "../../src/egress/policy.ts";
import { type FetchedSource, Sources } from "../../src/source/fetch.ts";
import { allowing, assertProblem, CACHING, FREE, LIMITS, problemOf } from "./fetching.ts";
import { serveHttp } from "./servers.ts";

type Answering = (response: ServerResponse, request: IncomingMessage) => void;

/** A server of one text, what it was asked, and sources whose clock stands still until the test moves it. */
interface Scene {
  readonly port: number;
  readonly url: string;
  readonly asked: IncomingMessage[];
  readonly sources: Sources;
  nowMs: number;
  get(path?: string, signal?: AbortSignal): Promise<string>;
}

async function stage(
  context: TestContext,
  answering: Answering,
  policy?: (port: number) => EgressPolicy,
): Promise<Scene> {
  const asked: IncomingMessage[] = [];
  const port = await serveHttp(context, (request, response) => {
    asked.push(request);
    answering(response, request);
  });
  const url = `http://code.test:${port}`;
  const scene: Scene = {
    port,
    url,
    asked,
    sources: new Sources((policy ?? allowing)(port), LIMITS, CACHING, () => scene.nowMs),
    nowMs: 0,
    get: async (path = "/", signal) => textOf(await scene.sources.fetch(url + path, FREE, signal)),
  };
  return scene;
}

function textOf({ bytes }: FetchedSource): string {
  return bytes.toString();
}

/** Answers each request with its number, under these headers. */
function numbered(headers: Record<string, string>): Answering {
  let count = 0;
  return (response) => response.writeHead(200, headers).end(String(++count));
}

/** Holds the answers back until all are let go. */
function gated(answering: Answering): { answering: Answering; open: () => void; arrived: Promise<void> } {
  const gate = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  return {
    answering: (response, request) => {
      arrived.resolve();
      void gate.promise.then(() => answering(response, request));
    },
    open: gate.resolve,
    arrived: arrived.promise,
  };
}

describe("code that is kept", () => {
  it("is not asked for again as long as it is fresh, and a minute at most", async (context) => {
    const scene = await stage(context, numbered({ "cache-control": "max-age=30" }));
    assert.equal(await scene.get(), "1");
    scene.nowMs = 20_000;
    assert.equal(await scene.get("/#other-fragment"), "1");
    assert.equal(await scene.get("/?other"), "2");
    scene.nowMs = 31_000;
    assert.equal(await scene.get(), "3");

    const long = await stage(context, numbered({ "cache-control": "max-age=86400" }));
    assert.equal(await long.get(), "1");
    long.nowMs = 60_001;
    assert.equal(await long.get(), "2");
  });

  it("is asked for each time where nothing says that it may be used again", async (context) => {
    for (const headers of [
      {},
      { "cache-control": "no-store, max-age=30" },
      { "cache-control": "private, max-age=30" },
      { "cache-control": "no-cache, max-age=30" },
      { "cache-control": "max-age=30", vary: "*" },
      { "cache-control": "max-age=0" },
    ]) {
      const scene = await stage(context, numbered(headers));
      assert.deepEqual([await scene.get(), await scene.get()], ["1", "2"], JSON.stringify(headers));
    }
  });

  it("is validated by its tag or date when it is stale, and what comes then replaces it", async (context) => {
    const modified = "Thu, 01 Oct 2026 00:00:00 GMT";
    let text = "'first'";
    const scene = await stage(context, (response, request) => {
      const etag = `"${text.length}"`;
      if (request.headers["if-none-match"] === etag)
        return response.writeHead(304, { "cache-control": "max-age=20" }).end();
      return response.writeHead(200, { etag, "last-modified": modified, "cache-control": "max-age=30" }).end(text);
    });
    assert.equal(await scene.get(), "'first'");
    scene.nowMs = 31_000;
    assert.equal(await scene.get(), "'first'");
    assert.equal(scene.asked[1]!.headers["if-none-match"], '"7"');
    assert.equal(scene.asked[1]!.headers["if-modified-since"], modified);
    // The 304 said for how long from then on.
    scene.nowMs = 41_000;
    assert.equal(await scene.get(), "'first'");
    assert.equal(scene.asked.length, 2);
    text = "'second'";
    scene.nowMs = 52_000;
    assert.equal(await scene.get(), "'second'");
    assert.equal(scene.asked.length, 3);
  });

  it("is asked for without conditions when a 304 speaks of something else", async (context) => {
    const scene = await stage(context, (response, request) => {
      const conditional = request.headers["if-none-match"] !== undefined;
      response.writeHead(conditional ? 304 : 200, { etag: `"${scene.asked.length}"` });
      response.end(conditional ? "" : String(scene.asked.length));
    });
    assert.equal(await scene.get(), "1");
    assert.equal(await scene.get(), "3");
    assert.deepEqual(
      scene.asked.map(({ headers }) => headers["if-none-match"]),
      [undefined, '"1"', undefined],
    );
  });

  it("is never a failure, nor given in place of one", async (context) => {
    let status = 500;
    const headers = { "cache-control": "max-age=30", etag: '"a"' };
    const scene = await stage(context, (response) => response.writeHead(status, headers).end("6 * 7"));
    await assertProblem(scene.get(), "task_url_status", /500/);
    status = 200;
    assert.equal(await scene.get(), "6 * 7");
    scene.nowMs = 31_000;
    status = 503;
    await assertProblem(scene.get(), "task_url_status", /503/);
    const page = await stage(context, (response) => response.writeHead(200, headers).end("<!doctype html>"));
    for (const count of [1, 2]) {
      await assertProblem(page.get(), "task_url_not_code", /HTML/);
      assert.equal(page.asked.length, count);
    }
  });

  it("is held against the digest of each token that asks for it", async (context) => {
    const scene = await stage(context, numbered({ "cache-control": "max-age=30" }));
    assert.equal(await scene.get(), "1");
    const permit = { net: null, sha256: "0".repeat(64) };
    await assertProblem(scene.sources.fetch(`${scene.url}/`, permit), "code_pinned", /SHA-256/);
    assert.equal(scene.asked.length, 1);
  });

  it("keeps a redirect apart from where it leads", async (context) => {
    const scene = await stage(context, (response, { url }) => {
      if (url === "/moved") response.writeHead(302, { location: "/here", "cache-control": "max-age=50" }).end();
      else response.writeHead(200, { "cache-control": "max-age=20" }).end(String(scene.asked.length));
    });
    assert.equal(await scene.get("/moved"), "2");
    assert.equal(await scene.get("/moved"), "2");
    assert.equal(await scene.get("/here"), "2");
    scene.nowMs = 30_000;
    assert.equal(await scene.get("/moved"), "3");
    assert.deepEqual(
      scene.asked.map(({ url }) => url),
      ["/moved", "/here", "/here"],
    );
  });
});

describe("code that is kept is not for those who may not fetch it", () => {
  it("by their claim, at the first place or at one that it redirects to", async (context) => {
    const headers = { "cache-control": "max-age=30" };
    const scene = await stage(context, (response, { url }) => {
      const location = `http://other.test:${scene.port}/code`;
      if (url === "/away") response.writeHead(302, { ...headers, location }).end();
      else response.writeHead(200, headers).end("6 * 7");
    });
    const fetchUnder = (net: readonly string[] | false, path: string): Promise<FetchedSource> => {
      return scene.sources.fetch(scene.url + path, { net, sha256: null });
    };
    assert.equal(await scene.get("/away"), "6 * 7");
    for (const net of [false, [], ["other.test"], [`code.test:${scene.port + 1}`]] as const) {
      await assertProblem(fetchUnder(net, "/away"), "task_url_forbidden", /^"code.test" .*token/);
    }
    await assertProblem(fetchUnder(["code.test"], "/away"), "task_url_forbidden", /redirects to .*token/);
    assert.equal(textOf(await fetchUnder(["code.test", `other.test:${scene.port}`], "/away")), "6 * 7");
    assert.equal(scene.asked.length, 2);
  });

  it("by their claim, while it is on its way for somebody else", async (context) => {
    const gate = gated((response) => response.end("6 * 7"));
    const scene = await stage(context, gate.answering);
    const free = scene.get();
    await gate.arrived;
    await assertProblem(
      scene.sources.fetch(`${scene.url}/`, { net: ["other.test"], sha256: null }),
      "task_url_forbidden",
      /token/,
    );
    gate.open();
    assert.equal(await free, "6 * 7");
  });

  it("by a policy that has come to refuse the addresses that it is from", async (context) => {
    let refused = false;
    const scene = await stage(context, numbered({ "cache-control": "max-age=30" }), (port) => {
      const policy = allowing(port);
      return {
        ...policy,
        resolve: async (host, at, known) => {
          if (refused && known?.includes("127.0.0.1")) throw new EgressDenied(host, "address", "is refused now");
          return policy.resolve(host, at, known);
        },
      };
    });
    assert.equal(await scene.get(), "1");
    refused = true;
    await assertProblem(scene.get(), "task_url_forbidden", /is refused now/);
  });
});

describe("code that many want at once", () => {
  it("is fetched once for a thousand, whether or not it may be kept", async (context) => {
    for (const headers of [{}, { "cache-control": "max-age=30" }]) {
      const gate = gated(numbered(headers));
      const scene = await stage(context, gate.answering);
      const all = Array.from({ length: 1_000 }, () => scene.get());
      await gate.arrived;
      gate.open();
      assert.deepEqual(new Set(await Promise.all(all)), new Set(["1"]));
      assert.equal(scene.asked.length, 1);
    }
  });

  it("is fetched for each where not all may have what one fetched, four at a time", async (context) => {
    const callers = 10;
    for (const text of ["no-store", "private", "no-cache", "max-age=0, must-revalidate"]) {
      const answering = numbered({ "cache-control": text });
      const held: (() => void)[] = [];
      let most = 0;
      const scene = await stage(context, (response, request) => {
        held.push(() => answering(response, request));
        most = Math.max(most, held.length);
        // The first fetch is alone, and those after it come by four: fewer at a time would never be answered.
        const isWhole = [1, callers].includes(scene.asked.length) || held.length === 4;
        if (isWhole) for (const answer of held.splice(0)) answer();
      });
      const all = await Promise.all(Array.from({ length: callers }, () => scene.get()));
      assert.deepEqual([new Set(all).size, scene.asked.length, most], [callers, callers, 4], text);
    }
  });

  it("is fetched no more by those that wait in line once there is an answer that all may have", async (context) => {
    const gate = gated((response) => {
      const cacheControl = scene.asked.length === 1 ? "no-store" : "max-age=30";
      response.writeHead(200, { "cache-control": cacheControl }).end("6 * 7");
    });
    const scene = await stage(context, gate.answering);
    const all = Array.from({ length: 100 }, () => scene.get());
    await gate.arrived;
    gate.open();
    assert.deepEqual(new Set(await Promise.all(all)), new Set(["6 * 7"]));
    assert.equal(scene.asked.length, 5);
  });

  it("is not fetched by a caller that left while it waited in line, and the line goes on", async (context) => {
    const held: (() => void)[] = [];
    let came = Promise.withResolvers<void>();
    const answering = numbered({ "cache-control": "no-store" });
    const scene = await stage(context, (response, request) => {
      held.push(() => answering(response, request));
      if (scene.asked.length === 1 || held.length === 4) came.resolve();
      if (scene.asked.length > 5) for (const answer of held.splice(0)) answer();
    });
    const first = scene.get();
    const four = Array.from({ length: 4 }, () => scene.get());
    const leaver = new AbortController();
    const left = assert.rejects(scene.get("/", leaver.signal), /gone/);
    const last = scene.get();
    await came.promise;
    came = Promise.withResolvers<void>();
    held.shift()!();
    assert.equal(await first, "1");
    await came.promise;
    leaver.abort(new Error("gone"));
    await left;
    held.shift()!();
    assert.equal(new Set(await Promise.all([...four, last])).size, 5);
    assert.equal(scene.asked.length, 6);
  });

  it("is validated once for a thousand", async (context) => {
    const headers = { "cache-control": "no-cache", etag: '"a"' };
    const gate = gated((response) => response.writeHead(304, headers).end());
    const scene = await stage(context, (response, request) => {
      if (request.headers["if-none-match"] === '"a"') gate.answering(response, request);
      else response.writeHead(200, headers).end("6 * 7");
    });
    assert.equal(await scene.get(), "6 * 7");
    const all = Array.from({ length: 1_000 }, () => scene.get());
    await gate.arrived;
    gate.open();
    assert.deepEqual(new Set(await Promise.all(all)), new Set(["6 * 7"]));
    assert.equal(scene.asked.length, 2);
  });

  it("still comes when whoever asked first has left, and is given up when the last has", async (context) => {
    const gate = gated((response) => response.end("6 * 7"));
    const scene = await stage(context, gate.answering);
    const first = new AbortController();
    const left = scene.get("/", first.signal);
    const stays = scene.get();
    await gate.arrived;
    first.abort(new Error("gone"));
    await assert.rejects(left, /^Error: gone$/);
    gate.open();
    assert.equal(await stays, "6 * 7");
    assert.equal(scene.asked.length, 1);

    const silent = gated(() => {});
    const other = await stage(context, silent.answering);
    const leavers = [new AbortController(), new AbortController()];
    const waiting = leavers.map(({ signal }) => other.get("/", signal));
    await silent.arrived;
    const closed = Promise.withResolvers<void>();
    other.asked[0]!.socket.once("close", () => closed.resolve());
    for (const leaver of leavers) leaver.abort(new Error("gone"));
    for (const each of waiting) await assert.rejects(each, /gone/);
    await closed.promise;
  });

  it("is fetched again for a caller that comes after the last has left", async (context) => {
    let hangs = true;
    const arrived = Promise.withResolvers<void>();
    const scene = await stage(context, (response) => {
      if (hangs) arrived.resolve();
      else response.end("6 * 7");
    });
    const leaver = new AbortController();
    // Any wait for the fetch that hangs would last for ever. From its start on: what is no mock is not cleared by one.
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const left = assert.rejects(scene.get("/", leaver.signal), /gone/);
    await arrived.promise;
    hangs = false;
    leaver.abort(new Error("gone"));
    await left;
    assert.equal(await scene.get(), "6 * 7");
    assert.equal(scene.asked.length, 2);
  });

  it("fails for the caller alone that fetched it: those that waited fetch for themselves", async (context) => {
    let status = 500;
    const gate = gated((response) => {
      response.writeHead(status, { "cache-control": "no-store" }).end("6 * 7");
      status = 200;
    });
    const scene = await stage(context, gate.answering);
    const first = scene.get();
    const others = [scene.get(), scene.get()];
    await gate.arrived;
    assert.equal(scene.asked.length, 1);
    gate.open();
    assert.equal((await problemOf(first)).code, "task_url_status");
    assert.deepEqual(await Promise.all(others), ["6 * 7", "6 * 7"]);
    assert.equal(scene.asked.length, 3);
  });

  it("has its whole time for a caller that waited in vain for the answer of another", async (context) => {
    const answers: (() => void)[] = [];
    const arrivals = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const answering = numbered({ "cache-control": "no-store" });
    const scene = await stage(context, (response, request) => {
      answers.push(() => answering(response, request));
      arrivals[answers.length - 1]!.resolve();
    });
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const first = scene.get();
    const second = scene.get();
    const mostMs = LIMITS.totalMs * 0.9;
    await arrivals[0]!.promise;
    context.mock.timers.tick(mostMs);
    answers[0]!();
    assert.equal(await first, "1");
    await arrivals[1]!.promise;
    context.mock.timers.tick(mostMs);
    answers[1]!();
    assert.equal(await second, "2");
  });

  it("is given up when it takes too long for all that waited as long, and fetched by the others", async (context) => {
    const gate = gated(() => {});
    const scene = await stage(context, (response, request) => {
      if (scene.asked.length === 1) gate.answering(response, request);
      else response.end("6 * 7");
    });
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const outcomes = [scene.get(), scene.get()].map((each) =>
      assertProblem(each, "task_url_unreachable", /in full within 20000 ms$/),
    );
    await gate.arrived;
    context.mock.timers.tick(LIMITS.totalMs / 2);
    const later = scene.get();
    const closed = Promise.withResolvers<void>();
    scene.asked[0]!.socket.once("close", () => closed.resolve());
    context.mock.timers.tick(LIMITS.totalMs / 2);
    await Promise.all(outcomes);
    await closed.promise;
    assert.equal(await later, "6 * 7");
    assert.equal(scene.asked.length, 2);
  });

  it("has its whole time once, and not at each place that it redirects to", async (context) => {
    const held: (() => void)[] = [];
    let came = Promise.withResolvers<void>();
    const scene = await stage(context, (response, { url }) => {
      const headers = { "cache-control": "no-store", ...(url === "/a" && { location: "/b" }) };
      held.push(() => response.writeHead(url === "/a" ? 302 : 200, headers).end("6 * 7"));
      came.resolve();
    });
    const next = async (): Promise<void> => {
      await came.promise;
      came = Promise.withResolvers<void>();
    };
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const [mostMs, answer] = [LIMITS.totalMs * 0.9, (): void => held.shift()!()];
    const first = scene.get("/a");
    const second = scene.get("/a");
    await next();
    context.mock.timers.tick(mostMs);
    answer();
    await next();
    // The fetch of /b for the first caller, and that of /a for the second one.
    if (held.length < 2) await next();
    const outcome = assertProblem(second, "task_url_unreachable", /in full within 20000 ms$/);
    context.mock.timers.tick(LIMITS.totalMs * 0.1);
    await problemOf(first);
    context.mock.timers.tick(mostMs);
    await outcome;
  });
});
