import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Problem } from "../../src/errors.ts";
import { bytesFrame } from "../../src/wire/frames.ts";
import { DATA_BYTES, FROM_GUEST, TO_GUEST } from "../../src/wire/messages.ts";
import { LIMITS, makeGuest, type Puppet } from "./puppet.ts";
import { start } from "./recorder.ts";

const HEAD = { status: 200, headers: [] };

/** Frames that no honest guest sends, by attack. */
const FORGERIES: Record<string, (puppet: Puppet, id: number) => void> = {
  "an unknown type": (puppet) => puppet.say(99, 0),
  "an unknown type with the id of its run": (puppet, id) => puppet.say(99, id),
  "a type that only the service sends": (puppet, id) => puppet.say(TO_GUEST.run, id),
  "text instead of frames": (puppet) => puppet.write(Buffer.from("forged".repeat(9))),
  "a length below the header": (puppet) => puppet.write(Buffer.from([4, 0, 0, 0, 65, 0, 0, 0, 0])),
  "a length beyond every result": (puppet) => {
    const frame = bytesFrame(FROM_GUEST.result, 0);
    frame.writeUInt32LE(LIMITS.resultBytes + 6);
    puppet.write(frame);
  },
  "a body before its head": (puppet, id) => puppet.say(FROM_GUEST.data, id, "x"),
  "a second head": (puppet, id) => {
    puppet.say(FROM_GUEST.head, id, HEAD);
    puppet.say(FROM_GUEST.head, id, HEAD);
  },
  "a head that is too long": (puppet, id) =>
    puppet.say(FROM_GUEST.head, id, `${JSON.stringify(HEAD)}${" ".repeat(65_536)}`),
  "a head that is not JSON": (puppet, id) => puppet.say(FROM_GUEST.head, id, "{"),
  "a head that splits the response": (puppet, id) =>
    puppet.say(FROM_GUEST.head, id, { status: 200, headers: ["x-a", "1\r\nSet-Cookie: a=b"] }),
  "more of a body in one frame than fits": (puppet, id) => {
    puppet.say(FROM_GUEST.head, id, HEAD);
    puppet.say(FROM_GUEST.data, id, Buffer.alloc(DATA_BYTES + 1));
  },
  "a fault that is not JSON": (puppet, id) => puppet.say(FROM_GUEST.fault, id, "x"),
  "a fault that only the service detects": (puppet, id) =>
    puppet.say(FROM_GUEST.fault, id, { code: "container_limited", detail: "x" }),
};

describe("a forged frame", () => {
  for (const [what, forge] of Object.entries(FORGERIES)) {
    it(`ends the guest, and its only run receives task_exited: ${what}`, async (t) => {
      const { guest, puppet } = await makeGuest(t);
      const run = start(guest, "a");
      forge(puppet, run.id);
      assert.equal(await run.outcome(), "task_exited");
      assert.ok(guest.ended && puppet.killed);
      assert.equal(puppet.socket.destroyed, true);
    });
  }

  it("while several runs are in flight is blamed on none of them, because any of them may have written it", async (t) => {
    for (const forge of Object.values(FORGERIES)) {
      const { guest, puppet } = await makeGuest(t);
      const runs = ["a", "b", "c"].map((source) => start(guest, source));
      forge(puppet, runs[1]!.id);
      for (const run of runs) {
        assert.equal(await run.outcome(), "container_restarted");
        assert.equal(run.problems.length, 1);
      }
    }
  });

  it("does not revoke frames before it in the same bytes, and frames after it are dropped", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const [before, after] = [start(guest, "a"), start(guest, "b")];
    const frames = [
      bytesFrame(FROM_GUEST.result, before.id, Buffer.from("1")),
      bytesFrame(99, after.id),
      bytesFrame(FROM_GUEST.result, after.id, Buffer.from("2")),
    ];
    puppet.write(Buffer.concat(frames));
    assert.equal(await before.outcome(), "result 1");
    assert.equal(await after.outcome(), "task_exited");
    assert.deepEqual(after.events, ["task_exited"]);
    assert.ok(guest.ended);
  });

  it("with the id of an unknown run has no effect", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const run = start(guest, "a");
    puppet.say(FROM_GUEST.head, run.id + 1, "{");
    puppet.say(FROM_GUEST.data, run.id + 1, Buffer.alloc(DATA_BYTES + 1));
    puppet.say(FROM_GUEST.result, run.id, "1");
    assert.equal(await run.outcome(), "result 1");
    assert.equal(guest.ended, false);
  });
});

describe("a guest that ends by itself", () => {
  it("gives its only run the cause", async (t) => {
    for (const [outOfMemory, code] of [
      [false, "task_exited"],
      [true, "task_memory"],
    ] as const) {
      const { guest, puppet } = await makeGuest(t);
      const run = start(guest, "a");
      puppet.exit({ how: "exit code 134: /secret/stack", outOfMemory });
      assert.equal(await run.outcome(), code);
      assert.doesNotMatch(`${run.problems[0]!.message} ${run.problems[0]!.options.hint}`, /secret|134/);
      assert.match((run.problems[0]!.cause as Error).message, /secret/);
      assert.ok(guest.ended);
    }
  });

  it("has its earlier frames handled, although its exit is reported first", async (t) => {
    const { guest, puppet } = await makeGuest(t, { resultBytes: 2 ** 23 });
    const [answered, other] = [start(guest, "a"), start(guest, "b")];
    puppet.say(FROM_GUEST.result, answered.id, "1".repeat(2 ** 22));
    puppet.exit();
    assert.equal(await answered.outcome(), `result ${"1".repeat(2 ** 22)}`);
    assert.equal(await other.outcome(), "task_exited");
    assert.ok(guest.ended);
  });

  it("and leaves its socket open, is closed by the service", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const run = start(guest, "a");
    puppet.exit({}, "open");
    assert.equal(await run.outcome(), "task_exited");
    assert.ok(puppet.socket.destroyed);
  });

  it("blames none of several runs", async (t) => {
    for (const outOfMemory of [false, true]) {
      const { guest, puppet } = await makeGuest(t);
      const runs = [start(guest, "a"), start(guest, "b")];
      puppet.exit({ outOfMemory });
      for (const run of runs) assert.equal(await run.outcome(), "container_restarted");
    }
  });

  it("breaks a stream that has begun", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const run = start(guest, "a");
    puppet.say(FROM_GUEST.head, run.id, HEAD);
    await run.received("head 200");
    puppet.exit();
    await run.ended;
    assert.deepEqual(run.events, ["head 200", "task_exited"]);
  });

  it("takes no further run, and a refused run is not in flight", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const run = start(guest, "a");
    puppet.exit();
    await run.ended;
    assert.throws(() => start(guest, "b"), { code: "sandbox_failed" });
    assert.equal(guest.inFlight.size, 0);
  });
});

describe("the first cause of a guest's end", () => {
  const timeout = new Problem("task_timeout", "first");
  const blocked = new Problem("task_blocked", "first");
  const restarted = new Problem("container_restarted", "first");

  it("is the answer to its runs, and a later cause does not change it", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const runs = [start(guest, "a"), start(guest, "b")];
    guest.end(restarted, { id: runs[0]!.id, cause: blocked });
    guest.end(timeout);
    puppet.exit({ outOfMemory: true });
    puppet.say(99, 0);
    await puppet.exited;
    assert.deepEqual(
      runs.map(({ events }) => events),
      [["task_blocked"], ["container_restarted"]],
    );
    assert.ok(runs.every(({ problems }) => problems[0]!.message === "first"));
  });

  it("is the exit if it was known before the guest was ended", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const run = start(guest, "a");
    puppet.exit({ outOfMemory: true });
    assert.equal(await run.outcome(), "task_memory");
    guest.end(blocked);
    assert.deepEqual(run.events, ["task_memory"]);
  });

  it("does not change the answer of a run that has one", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const [done, failed] = [start(guest, "a"), start(guest, "b")];
    puppet.say(FROM_GUEST.result, done.id, "1");
    await done.ended;
    guest.inFlight.fail(failed.id, timeout);
    guest.end(restarted, { id: done.id, cause: blocked });
    assert.deepEqual([done.events, failed.events], [["result 1"], ["task_timeout"]]);
  });
});
