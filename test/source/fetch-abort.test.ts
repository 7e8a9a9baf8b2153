import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { allowing, fetchSource, LIMITS, trustTestCertificate } from "./fetching.ts";
import { serveHttps, serveRaw } from "./servers.ts";

describe("a caller that aborts its fetch", () => {
  it("receives the reason of its signal, and the connection is closed", async (context) => {
    const arrived = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    const port = await serveRaw(context, (socket) => {
      socket.once("data", () => arrived.resolve());
      socket.once("close", () => closed.resolve());
    });
    const control = new AbortController();
    const reason = new Error("gone");
    const work = fetchSource(`http://127.0.0.1:${port}/`, allowing(port), LIMITS, control.signal);
    await arrived.promise;
    control.abort(reason);
    await assert.rejects(work, reason);
    await closed.promise;
    await assert.rejects(fetchSource("http://x.test/", allowing(), LIMITS, control.signal), reason);
  });

  it("at any moment leaves no unhandled error that would end the process", async (context) => {
    const port = await serveHttps(context, (_request, response) => {
      response.write("6 *");
      setImmediate(() => response.end("7"));
    });
    trustTestCertificate(context);
    for (let turns = 0; turns < 40; turns += 1) {
      const control = new AbortController();
      const work = fetchSource(`https://code.test:${port}/`, allowing(port), LIMITS, control.signal);
      const settled = work.then(
        () => "done",
        () => "gone",
      );
      for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
      control.abort();
      await settled;
    }
  });
});
