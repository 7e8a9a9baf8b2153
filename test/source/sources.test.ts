import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, it, type TestContext } from "node:test";

import { EgressDenied } from "../../src/egress/denied.ts";
import type { EgressPolicy } from "../../src/egress/policy.ts";
import { type FetchedSource, Sources } from "../../src/source/fetch.ts";
import { allowing, assertProblem, CACHING, FREE, LIMITS, problemOf } from "./fetching.ts";
import { serveHttp } from "./servers.ts";

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** A server, the requests that it received, and `Sources` with a clock that only the test moves. */
interface Scene {
  readonly port: number;
  readonly url: string;
  readonly requests: IncomingMessage[];
  readonly sources: Sources;
  nowMs: number;
  get(path?: string, signal?: AbortSignal): Promise<string>;
}

async function setup(context: TestContext, answer: Answer, policy?: (port: number) => EgressPolicy): Promise<Scene> {
  const requests: IncomingMessage[] = [];
  const port = await serveHttp(context, (request, response) => {
    requests.push(request);
    answer(response, request);
  });
  const url = `http://code.test:${port}`;
  const scene: Scene = {
    port,
    url,
    requests,
    sources: new Sources((policy ?? allowing)(port), LIMITS, CACHING, () => scene.nowMs),
    nowMs: 0,
    get: async (path = "/", signal) => textOf(await scene.sources.fetch(url + path, FREE, signal)),
  };
  return scene;
}

function textOf({ bytes }: FetchedSource): string {
  return bytes.toString();
}

/** Answers each request with its number and these headers. */
function numbered(headers: Record<string, string>): Answer {
  let count = 0;
  return (response) => response.writeHead(200, headers).end(String(++count));
}

/** Delays all answers until `open` is called. */
function holdAnswers(answer: Answer): { answer: Answer; open: () => void; arrived: Promise<void> } {
  const gate = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  return {
    answer: (response, request) => {
      arrived.resolve();
      void gate.promise.then(() => answer(response, request));
    },
    open: gate.resolve,
    arrived: arrived.promise,
  };
}

describe("cached code", () => {
  it("is not requested again while it is fresh, for a minute at most", async (context) => {
    const scene = await setup(context, numbered({ "cache-control": "max-age=30" }));
    assert.equal(await scene.get(), "1");
    scene.nowMs = 20_000;
    assert.equal(await scene.get("/#other-fragment"), "1");
    assert.equal(await scene.get("/?other"), "2");
    scene.nowMs = 31_000;
    assert.equal(await scene.get(), "3");

    const long = await setup(context, numbered({ "cache-control": "max-age=86400" }));
    assert.equal(await long.get(), "1");
    long.nowMs = 60_001;
    assert.equal(await long.get(), "2");
  });

  it("is requested each time if the answer does not allow its reuse", async (context) => {
    for (const headers of [
      {},
      { "cache-control": "no-store, max-age=30" },
      { "cache-control": "private, max-age=30" },
      { "cache-control": "no-cache, max-age=30" },
      { "cache-control": "max-age=30", vary: "*" },
      { "cache-control": "max-age=0" },
    ]) {
      const scene = await setup(context, numbered(headers));
      assert.deepEqual([await scene.get(), await scene.get()], ["1", "2"], JSON.stringify(headers));
    }
  });

  it("is validated by its ETag or date when it is stale, and a new answer replaces it", async (context) => {
    const modified = "Thu, 01 Oct 2026 00:00:00 GMT";
    let text = "'first'";
    const scene = await setup(context, (response, request) => {
      const etag = `"${text.length}"`;
      if (request.headers["if-none-match"] === etag)
        return response.writeHead(304, { "cache-control": "max-age=20" }).end();
      return response.writeHead(200, { etag, "last-modified": modified, "cache-control": "max-age=30" }).end(text);
    });
    assert.equal(await scene.get(), "'first'");
    scene.nowMs = 31_000;
    assert.equal(await scene.get(), "'first'");
    assert.equal(scene.requests[1]!.headers["if-none-match"], '"7"');
    assert.equal(scene.requests[1]!.headers["if-modified-since"], modified);
    // The 304 set a new lifetime.
    scene.nowMs = 41_000;
    assert.equal(await scene.get(), "'first'");
    assert.equal(scene.requests.length, 2);
    text = "'second'";
    scene.nowMs = 52_000;
    assert.equal(await scene.get(), "'second'");
    assert.equal(scene.requests.length, 3);
  });

  it("is requested without conditions if a 304 is about another answer", async (context) => {
    const scene = await setup(context, (response, request) => {
      const conditional = request.headers["if-none-match"] !== undefined;
      response.writeHead(conditional ? 304 : 200, { etag: `"${scene.requests.length}"` });
      response.end(conditional ? "" : String(scene.requests.length));
    });
    assert.equal(await scene.get(), "1");
    assert.equal(await scene.get(), "3");
    assert.deepEqual(
      scene.requests.map(({ headers }) => headers["if-none-match"]),
      [undefined, '"1"', undefined],
    );
  });

  it("is never a failure, and never hides a later failure", async (context) => {
    let status = 500;
    const headers = { "cache-control": "max-age=30", etag: '"a"' };
    const scene = await setup(context, (response) => response.writeHead(status, headers).end("6 * 7"));
    await assertProblem(scene.get(), "task_url_status", /500/);
    status = 200;
    assert.equal(await scene.get(), "6 * 7");
    scene.nowMs = 31_000;
    status = 503;
    await assertProblem(scene.get(), "task_url_status", /503/);
    const page = await setup(context, (response) => response.writeHead(200, headers).end("<!doctype html>"));
    for (const count of [1, 2]) {
      await assertProblem(page.get(), "task_url_not_code", /HTML/);
      assert.equal(page.requests.length, count);
    }
  });

  it("must match the digest of each token that requests it", async (context) => {
    const scene = await setup(context, numbered({ "cache-control": "max-age=30" }));
    assert.equal(await scene.get(), "1");
    const permit = { net: null, sha256: "0".repeat(64) };
    await assertProblem(scene.sources.fetch(`${scene.url}/`, permit), "code_pinned", /SHA-256/);
    assert.equal(scene.requests.length, 1);
  });

  it("is stored separately from the redirect that leads to it", async (context) => {
    const scene = await setup(context, (response, { url }) => {
      if (url === "/moved") response.writeHead(302, { location: "/here", "cache-control": "max-age=50" }).end();
      else response.writeHead(200, { "cache-control": "max-age=20" }).end(String(scene.requests.length));
    });
    assert.equal(await scene.get("/moved"), "2");
    assert.equal(await scene.get("/moved"), "2");
    assert.equal(await scene.get("/here"), "2");
    scene.nowMs = 30_000;
    assert.equal(await scene.get("/moved"), "3");
    assert.deepEqual(
      scene.requests.map(({ url }) => url),
      ["/moved", "/here", "/here"],
    );
  });
});

describe("cached code is denied to a caller", () => {
  it("whose net claim does not contain the host or the redirect target", async (context) => {
    const headers = { "cache-control": "max-age=30" };
    const scene = await setup(context, (response, { url }) => {
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
    await assertProblem(fetchUnder(["code.test"], "/away"), "task_url_forbidden", /redirect target .*token/);
    assert.equal(textOf(await fetchUnder(["code.test", `other.test:${scene.port}`], "/away")), "6 * 7");
    assert.equal(scene.requests.length, 2);
  });

  it("whose net claim does not contain the host, also during the fetch of another caller", async (context) => {
    const gate = holdAnswers((response) => response.end("6 * 7"));
    const scene = await setup(context, gate.answer);
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

  it("if the policy rejects the addresses of the host by now", async (context) => {
    let refused = false;
    const scene = await setup(context, numbered({ "cache-control": "max-age=30" }), (port) => {
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

describe("code that many callers request at once", () => {
  it("is fetched once for a thousand callers, whether or not it may be cached", async (context) => {
    for (const headers of [{}, { "cache-control": "max-age=30" }]) {
      const gate = holdAnswers(numbered(headers));
      const scene = await setup(context, gate.answer);
      const all = Array.from({ length: 1_000 }, () => scene.get());
      await gate.arrived;
      gate.open();
      assert.deepEqual(new Set(await Promise.all(all)), new Set(["1"]));
      assert.equal(scene.requests.length, 1);
    }
  });

  it("is fetched for each caller if callers may not share the answer, four at a time", async (context) => {
    const callers = 10;
    for (const text of ["no-store", "private", "no-cache", "max-age=0, must-revalidate"]) {
      const answer = numbered({ "cache-control": text });
      const delayed: (() => void)[] = [];
      let most = 0;
      const scene = await setup(context, (response, request) => {
        delayed.push(() => answer(response, request));
        most = Math.max(most, delayed.length);
        // The first fetch is alone, and later fetches arrive in groups of four. A smaller group would never be
        // answered.
        const isWhole = [1, callers].includes(scene.requests.length) || delayed.length === 4;
        if (isWhole) for (const release of delayed.splice(0)) release();
      });
      const all = await Promise.all(Array.from({ length: callers }, () => scene.get()));
      assert.deepEqual([new Set(all).size, scene.requests.length, most], [callers, callers, 4], text);
    }
  });

  it("is fetched in turns of token families, and the wait behind another family does not count toward the time", async (context) => {
    const held: (() => void)[] = [];
    let isHeld = true;
    let whole = Promise.withResolvers<void>();
    const answer = numbered({ "cache-control": "no-store" });
    const scene = await setup(context, (response, request) => {
      if (!isHeld) return answer(response, request);
      held.push(() => answer(response, request));
      // The first fetch is alone, and later fetches arrive in groups of four.
      if (scene.requests.length % 4 === 1) whole.resolve();
    });
    const arrived = async (): Promise<void> => {
      await whole.promise;
      whole = Promise.withResolvers<void>();
    };
    const getAs = async (family: string): Promise<string> => {
      return textOf(await scene.sources.fetch(scene.url, { ...FREE, family }));
    };
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const greedy = Promise.allSettled(Array.from({ length: 20 }, () => getAs("greedy")));
    await arrived();
    held.shift()!();
    await arrived();
    const other = getAs("other");
    for (let group = 0; group < 2; group += 1) {
      context.mock.timers.tick(LIMITS.totalMs * 0.9);
      const releases = held.splice(0);
      isHeld = group === 0;
      for (const release of releases) release();
      if (isHeld) await arrived();
    }
    // The first fetch, and two groups.
    assert.ok(Number(await other) <= 9, `it was answered as number ${await other}`);
    await greedy;
  });

  it("is not fetched again by waiting callers after an answer that all callers may share", async (context) => {
    const gate = holdAnswers((response) => {
      const cacheControl = scene.requests.length === 1 ? "no-store" : "max-age=30";
      response.writeHead(200, { "cache-control": cacheControl }).end("6 * 7");
    });
    const scene = await setup(context, gate.answer);
    const all = Array.from({ length: 100 }, () => scene.get());
    await gate.arrived;
    gate.open();
    assert.deepEqual(new Set(await Promise.all(all)), new Set(["6 * 7"]));
    assert.equal(scene.requests.length, 5);
  });

  it("is not fetched by a caller that aborts while it waits, and the other waiting callers proceed", async (context) => {
    const delayed: (() => void)[] = [];
    let arrived = Promise.withResolvers<void>();
    const answer = numbered({ "cache-control": "no-store" });
    const scene = await setup(context, (response, request) => {
      delayed.push(() => answer(response, request));
      if (scene.requests.length === 1 || delayed.length === 4) arrived.resolve();
      if (scene.requests.length > 5) for (const release of delayed.splice(0)) release();
    });
    const first = scene.get();
    const four = Array.from({ length: 4 }, () => scene.get());
    const controller = new AbortController();
    const aborted = assert.rejects(scene.get("/", controller.signal), /gone/);
    const last = scene.get();
    await arrived.promise;
    arrived = Promise.withResolvers<void>();
    delayed.shift()!();
    assert.equal(await first, "1");
    await arrived.promise;
    controller.abort(new Error("gone"));
    await aborted;
    delayed.shift()!();
    assert.equal(new Set(await Promise.all([...four, last])).size, 5);
    assert.equal(scene.requests.length, 6);
  });

  it("is validated once for a thousand callers", async (context) => {
    const headers = { "cache-control": "no-cache", etag: '"a"' };
    const gate = holdAnswers((response) => response.writeHead(304, headers).end());
    const scene = await setup(context, (response, request) => {
      if (request.headers["if-none-match"] === '"a"') gate.answer(response, request);
      else response.writeHead(200, headers).end("6 * 7");
    });
    assert.equal(await scene.get(), "6 * 7");
    const all = Array.from({ length: 1_000 }, () => scene.get());
    await gate.arrived;
    gate.open();
    assert.deepEqual(new Set(await Promise.all(all)), new Set(["6 * 7"]));
    assert.equal(scene.requests.length, 2);
  });

  it("is still fetched after the first caller aborts, and its fetch ends when the last caller aborts", async (context) => {
    const gate = holdAnswers((response) => response.end("6 * 7"));
    const scene = await setup(context, gate.answer);
    const first = new AbortController();
    const aborted = scene.get("/", first.signal);
    const second = scene.get();
    await gate.arrived;
    first.abort(new Error("gone"));
    await assert.rejects(aborted, /^Error: gone$/);
    gate.open();
    assert.equal(await second, "6 * 7");
    assert.equal(scene.requests.length, 1);

    const silent = holdAnswers(() => {});
    const other = await setup(context, silent.answer);
    const controllers = [new AbortController(), new AbortController()];
    const waiting = controllers.map(({ signal }) => other.get("/", signal));
    await silent.arrived;
    const closed = Promise.withResolvers<void>();
    other.requests[0]!.socket.once("close", () => closed.resolve());
    for (const controller of controllers) controller.abort(new Error("gone"));
    for (const each of waiting) await assert.rejects(each, /gone/);
    await closed.promise;
  });

  it("is fetched again for a caller that comes after all others have aborted", async (context) => {
    let hangs = true;
    const arrived = Promise.withResolvers<void>();
    const scene = await setup(context, (response) => {
      if (hangs) arrived.resolve();
      else response.end("6 * 7");
    });
    const controller = new AbortController();
    // A wait for the hanging fetch would never end, because the clock is stopped. A mock clears only timers that it made.
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const aborted = assert.rejects(scene.get("/", controller.signal), /gone/);
    await arrived.promise;
    hangs = false;
    controller.abort(new Error("gone"));
    await aborted;
    assert.equal(await scene.get(), "6 * 7");
    assert.equal(scene.requests.length, 2);
  });

  it("fails only for the caller that fetched it: the waiting callers fetch it again", async (context) => {
    let status = 500;
    const gate = holdAnswers((response) => {
      response.writeHead(status, { "cache-control": "no-store" }).end("6 * 7");
      status = 200;
    });
    const scene = await setup(context, gate.answer);
    const first = scene.get();
    const others = [scene.get(), scene.get()];
    await gate.arrived;
    assert.equal(scene.requests.length, 1);
    gate.open();
    assert.equal((await problemOf(first)).code, "task_url_status");
    assert.deepEqual(await Promise.all(others), ["6 * 7", "6 * 7"]);
    assert.equal(scene.requests.length, 3);
  });

  it("has its full time limit for a caller that waited for an answer that it may not share", async (context) => {
    const answers: (() => void)[] = [];
    const arrivals = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const answer = numbered({ "cache-control": "no-store" });
    const scene = await setup(context, (response, request) => {
      answers.push(() => answer(response, request));
      arrivals[answers.length - 1]!.resolve();
    });
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const first = scene.get();
    const second = scene.get();
    const almostAllMs = LIMITS.totalMs * 0.9;
    await arrivals[0]!.promise;
    context.mock.timers.tick(almostAllMs);
    answers[0]!();
    assert.equal(await first, "1");
    await arrivals[1]!.promise;
    context.mock.timers.tick(almostAllMs);
    answers[1]!();
    assert.equal(await second, "2");
  });

  it("times out for all callers that waited the full time, and is fetched again by the others", async (context) => {
    const gate = holdAnswers(() => {});
    const scene = await setup(context, (response, request) => {
      if (scene.requests.length === 1) gate.answer(response, request);
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
    scene.requests[0]!.socket.once("close", () => closed.resolve());
    context.mock.timers.tick(LIMITS.totalMs / 2);
    await Promise.all(outcomes);
    await closed.promise;
    assert.equal(await later, "6 * 7");
    assert.equal(scene.requests.length, 2);
  });

  it("has its full time limit once, and not again at each redirect", async (context) => {
    const delayed: (() => void)[] = [];
    let arrived = Promise.withResolvers<void>();
    const scene = await setup(context, (response, { url }) => {
      const headers = { "cache-control": "no-store", ...(url === "/a" && { location: "/b" }) };
      delayed.push(() => response.writeHead(url === "/a" ? 302 : 200, headers).end("6 * 7"));
      arrived.resolve();
    });
    const next = async (): Promise<void> => {
      await arrived.promise;
      arrived = Promise.withResolvers<void>();
    };
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const [almostAllMs, answer] = [LIMITS.totalMs * 0.9, (): void => delayed.shift()!()];
    const first = scene.get("/a");
    const second = scene.get("/a");
    await next();
    context.mock.timers.tick(almostAllMs);
    answer();
    await next();
    // The fetch of /b for the first caller, and that of /a for the second one.
    if (delayed.length < 2) await next();
    const outcome = assertProblem(second, "task_url_unreachable", /in full within 20000 ms$/);
    context.mock.timers.tick(LIMITS.totalMs * 0.1);
    await problemOf(first);
    context.mock.timers.tick(almostAllMs);
    await outcome;
  });
});
