import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { assertProblem } from "../contract/problem.ts";
import { type Service, startService } from "../contract/service.ts";
import { until } from "../contract/until.ts";

/** Functions with which a task writes forged frames to its guest's own descriptor. */
const FORGE = `${readFileSync(path.join(import.meta.dirname, "preludes/frames.js"), "utf8")}\n`;
/** The maximum number of guests of a container: the guest that takes runs, and draining guests. */
const MOST_GUESTS = 3;
const FOREVER = "return new Promise(() => {})";

const LIMITS = ["--wall-limit", "5s", "--stream-limit", "5s"];

let service: Service;

before(async () => {
  service = await startService(LIMITS);
});
after(() => service.stop());

/** The forgeries. Each is answered with one clear problem, and the container serves the next run. */
const FORGERIES: Readonly<Record<string, string>> = {
  "random bytes": "writeSync(3, Buffer.alloc(64, 0xa5))",
  "a length of four gigabytes": "writeSync(3, Buffer.from([255, 255, 255, 255, 65, 1, 0, 0, 0]))",
  "a length shorter than a header": "writeSync(3, Buffer.from([1, 0, 0, 0, 65, 1, 0, 0, 0]))",
  "an unknown type for its own run": "forge(99, own)",
  "an end without a head": "forge(68, own)",
  "a body without a head": "forge(67, own, 'x')",
  "a head of 100 kB": "forge(66, own, JSON.stringify({ status: 200, headers: ['x-a', 'x'.repeat(1e5)] }))",
  "a head with a split header": "forge(66, own, JSON.stringify({ status: 200, headers: ['x-a', '1\\r\\nx-b: 2'] }))",
  "a head that is not JSON": "forge(66, own, '{')",
  "a fault with a code of the service's own": "forge(69, own, JSON.stringify({ code: 'token_invalid', detail: '' }))",
  "a fault above the maximum length": "forge(69, own, 'x'.repeat(3e5))",
  "a flood of pongs": "flood(70, 1)",
  "a flood of answers to unknown runs": "flood(65, 4e9, '1')",
  "a flood of faults for unknown runs": "flood(69, 4e9, '[[[[')",
};

describe("a task that forges", () => {
  for (const [index, [what, attack]] of Object.entries(FORGERIES).entries()) {
    // Each forgery has another container, because a container that loses its guests repeatedly must wait.
    const forger = `forger-${index}`;
    it(`${what} ends only its own container`, async () => {
      const answer = await service.run(forger, `${FORGE} ${attack}; ${FOREVER}`);
      assertProblem(answer, 500, "task_exited");
      assert.equal((await service.run(forger, "6 * 7")).text, "42");
      assert.equal((await service.run("neighbour", "6 * 7")).text, "42");
    });
  }

  it("has its answer cut at once if it forges a result after a head", async () => {
    const cut = await service.run("forger", `${FORGE} forge(66, own, HEAD); forge(65, own, '1'); ${FOREVER}`);
    assert.equal(cut.complete, false);
    assert.equal((await service.run("forger", "6 * 7")).text, "42");
  });

  it("does not affect a neighbour's run by a forged answer", async () => {
    const waits = "await new Promise((resolve) => setTimeout(resolve, 300)); return 'mine'";
    const innocent = service.run("innocent", waits);
    const attack = "for (let id = 0; id < 5000; id++) if (id !== own) forge(65, id, '\"forged\"')";
    assert.equal((await service.run("forger", `${FORGE} ${attack}; return 1`)).status, 200);
    assert.equal((await innocent).text, '"mine"');
  });

  it("does not collect guests by repeated requests to be replaced", async () => {
    const hold = `globalThis.held = true; return new Response(new ReadableStream({ start(c) { c.enqueue("x") } }))`;
    const retire = JSON.stringify({ code: "task_threw", detail: "", retire: true });
    const wish = `${FORGE} forge(69, own, ${JSON.stringify(retire)}); ${FOREVER}`;
    // There is no pool, so all guests belong to the container.
    const alone = await startService(["--pool", "0"]);
    const leaving = new AbortController();
    const held: Promise<unknown>[] = [];
    try {
      for (let n = 0; n < 8; n++) {
        const whetherHeld = async (): Promise<string> => (await alone.run("gatherer", "globalThis.held ?? false")).text;
        // A draining guest would end without a run in flight.
        held.push(alone.run("gatherer", hold, { signal: leaving.signal }).catch(() => null));
        await until(async () => (await whetherHeld()) === "true", "a run holds the guest");
        await alone.run("gatherer", wish);
        await until(async () => (await whetherHeld()) === "false", `another guest has replaced guest ${n}`);
        const guests = async (): Promise<number> => {
          return (await alone.trail.processes()).filter(({ kind }) => kind === "guest").length;
        };
        await until(async () => (await guests()) <= MOST_GUESTS, `at most ${MOST_GUESTS} guests are left`);
      }
      assert.equal((await alone.run("gatherer", "6 * 7")).text, "42");
    } finally {
      leaving.abort();
      await Promise.all(held);
      await alone.stop();
    }
  });
});
