import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Problem } from "../../src/errors.ts";
import { bytesFrame } from "../../src/wire/frames.ts";
import { DATA_BYTES, FROM_GUEST, TO_GUEST } from "../../src/wire/messages.ts";
import { LIMITS, makeGuest, type Puppet } from "./puppet.ts";
import { start } from "./recorder.ts";

const HEAD = { status: 200, headers: [] };

/** What no honest guest sends of a run, by the attack. */
const FORGERIES: Record<string, (puppet: Puppet, id: number) => void> = {
  "a type that is none": (puppet) => puppet.say(99, 0),
  "a type that is none, of its own": (puppet, id) => puppet.say(99, id),
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
  "a head that is no JSON": (puppet, id) => puppet.say(FROM_GUEST.head, id, "{"),
  "a head that splits the response": (puppet, id) =>
    puppet.say(FROM_GUEST.head, id, { status: 200, headers: ["x-a", "1\r\nSet-Cookie: a=b"] }),
  "more of a body in one frame than fits": (puppet, id) => {
    puppet.say(FROM_GUEST.head, id, HEAD);
    puppet.say(FROM_GUEST.data, id, Buffer.alloc(DATA_BYTES + 1));
  },
  "a fault that is no JSON": (puppet, id) => puppet.say(FROM_GUEST.fault, id, "x"),
  "a fault that only the service finds": (puppet, id) =>
    puppet.say(FROM_GUEST.fault, id, { code: "container_limited", detail: "x" }),
};

describe("a forged frame", () => {
  for (const [what, forge] of Object.entries(FORGERIES)) {
    it(`ends the guest, and its only run is told that it did it: ${what}`, async (t) => {
      const { guest, puppet } = await makeGuest(t);
      const run = start(guest, "a");
      forge(puppet, run.id);
      assert.equal(await run.outcome(), "task_exited");
      assert.ok(guest.ended && puppet.killed);
      assert.equal(puppet.socket.destroyed, true);
    });
  }

  it("while several runs are in flight is pinned on none of them: any of them may have written it", async (t) => {
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

  it("takes nothing back: what came before it in the same bytes is answered, what comes after it is not", async (t) => {
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
    assert.deepEqual(after.heard, ["task_exited"]);
    assert.ok(guest.ended);
  });

  it("of a run that is unknown costs nobody anything", async (t) => {
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
  it("tells its only run what the run did", async (t) => {
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

  it("has said all that it wrote before, though its end is told first", async (t) => {
    const { guest, puppet } = await makeGuest(t, { resultBytes: 2 ** 23 });
    const [answered, other] = [start(guest, "a"), start(guest, "b")];
    puppet.say(FROM_GUEST.result, answered.id, "1".repeat(2 ** 22));
    puppet.exit();
    assert.equal(await answered.outcome(), `result ${"1".repeat(2 ** 22)}`);
    assert.equal(await other.outcome(), "task_exited");
    assert.ok(guest.ended);
  });

  it("and leaves its socket open all the same, is given up", async (t) => {
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
    await run.told("head 200");
    puppet.exit();
    await run.ended;
    assert.deepEqual(run.heard, ["head 200", "task_exited"]);
  });

  it("takes no run any more, and none that was refused is in flight", async (t) => {
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

  it("is what its runs are told, whatever is found out later", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const runs = [start(guest, "a"), start(guest, "b")];
    guest.end(restarted, { id: runs[0]!.id, cause: blocked });
    guest.end(timeout);
    puppet.exit({ outOfMemory: true });
    puppet.say(99, 0);
    await puppet.exited;
    assert.deepEqual(
      runs.map(({ heard }) => heard),
      [["task_blocked"], ["container_restarted"]],
    );
    assert.ok(runs.every(({ problems }) => problems[0]!.message === "first"));
  });

  it("is the exit, when that was known before the guest was ended", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const run = start(guest, "a");
    puppet.exit({ outOfMemory: true });
    assert.equal(await run.outcome(), "task_memory");
    guest.end(blocked);
    assert.deepEqual(run.heard, ["task_memory"]);
  });

  it("cannot relabel a run that was answered before", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const [done, failed] = [start(guest, "a"), start(guest, "b")];
    puppet.say(FROM_GUEST.result, done.id, "1");
    await done.ended;
    guest.fail(failed.id, timeout);
    guest.end(restarted, { id: done.id, cause: blocked });
    assert.deepEqual([done.heard, failed.heard], [["result 1"], ["task_timeout"]]);
  });
});
