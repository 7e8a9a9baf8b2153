import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { after, before, describe, it } from "node:test";

import { respond } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { jtiOf } from "./record.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

let service: Service;

before(async () => {
  service = await startService([...NO_WALL, "--kill-revoked", "--log-level", "debug"]);
});
after(() => service.stop());

/** Code that writes a line to the log, and then runs until it is ended. */
const LASTING = `console.log("has begun"); await new Promise(() => setInterval(() => {}, 1_000));`;
const BLOCKING = `console.log("has begun"); await new Promise(setImmediate); for (;;);`;

async function begun(container: string): Promise<void> {
  await service.logLine((line) => line.includes(`"${container}"`) && line.includes("has begun"));
}

async function revoke(jti: string): Promise<void> {
  assert.equal((await service.request("DELETE", `/api/tokens/${jti}`)).status, 200);
}

describe("with --kill-revoked a revocation ends the runs in flight", () => {
  for (const [name, code] of [
    ["waits", LASTING],
    ["never yields", BLOCKING],
  ] as const) {
    it(`of the token, also a run that ${name}`, async () => {
      const container = `k-${code.length}`;
      const token = await service.issue({ containers: ["*"] });
      const run = service.run(container, code, { token });
      await begun(container);
      await revoke(jtiOf(token));
      assert.match(assertProblem(await run, 403, "token_invalid").detail, /revoked/);
      await until(async () => (await running(container)) === 0, "its slot is free");
      // The guest was blocked. Without its end, no other run would get an answer from it.
      assert.equal((await service.run(container, "6 * 7")).text, "42");
    });
  }

  it("of the tokens below it", async () => {
    const head = await service.issue({ containers: ["*"], can: ["run", "issue"], depth: 1 });
    const answer = await service.request("POST", "/api/tokens", { token: head, json: { containers: ["below"] } });
    const { token } = answer.json() as { token: string };
    const run = service.run("below", LASTING, { token });
    await begun("below");
    await revoke(jtiOf(head));
    assertProblem(await run, 403, "token_invalid");
  });

  it("and cuts an answer that streams", async () => {
    const token = await service.issue({ containers: ["*"] });
    const code = `((pulls) => new Response(new ReadableStream({
        pull(stream) {
          if (pulls++ === 0) return stream.enqueue(new TextEncoder().encode("first"));
          console.log("has begun");
          return new Promise((never) => setTimeout(never, 60_000));
        },
      }, { highWaterMark: 0 })))(0)`;
    const run = service.run("streaming", code, { token });
    await begun("streaming");
    await revoke(jtiOf(token));
    const { status, complete } = await run;
    assert.deepEqual([status, complete], [200, false]);
  });

  it("and no other run in the same guest", async () => {
    const [one, other] = [await service.issue({ containers: ["*"] }), await service.issue({ containers: ["*"] })];
    const ended = service.run("shared", LASTING, { token: one });
    const lasts = `(async () => {
      console.log("waits too");
      await new Promise((go) => setTimeout(go, 1_500));
      return "kept";
    })()`;
    const kept = service.run("shared", lasts, { token: other });
    await begun("shared");
    await service.logLine((line) => line.includes("waits too"));
    await revoke(jtiOf(one));
    assertProblem(await ended, 403, "token_invalid");
    assert.equal((await kept).json(), "kept");
  });

  it("and no other run in any of its guests, also after many revocations", async () => {
    const other = await service.issue({ containers: ["*"] });
    const lasts = `new Response(new ReadableStream({
      pull: (stream) => new Promise((go) => setTimeout(go, 20)).then(() => stream.enqueue(new Uint8Array(1))),
    }))`;
    const streams: IncomingMessage[] = [];
    for (let round = 0; round < 4; round++) {
      const stream = await respond(service.port, "POST", "/api/run/often", { token: other, body: lasts });
      streams.push(stream.on("error", () => {}));
      const token = await service.issue({ containers: ["*"] });
      const ended = service.run("often", `console.log("round ${round} has begun"); ${LASTING}`, { token });
      await service.logLine((line) => line.includes(`round ${round} has begun`));
      await revoke(jtiOf(token));
      assertProblem(await ended, 403, "token_invalid");
    }
    for (const stream of streams) {
      let bytes = 0;
      stream.on("data", (chunk: Buffer) => (bytes += chunk.length));
      await until(() => stream.errored !== null || bytes > 200, "the stream continues");
      assert.equal(stream.errored, null);
      stream.destroy();
    }
  });
});

/** Returns the number of runs in flight in the container. */
async function running(container: string): Promise<number> {
  const { containers } = (await service.request("GET", "/api/containers?limit=1000")).json() as {
    containers: { container: string; running: number }[];
  };
  return containers.find((each) => each.container === container)?.running ?? 0;
}
