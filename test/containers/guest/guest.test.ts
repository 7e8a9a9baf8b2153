import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { EXITED_BY_ANOTHER } from "../../../src/containers/guest/exit-causes.ts";
import { Guest } from "../../../src/containers/guest/guest.ts";
import { Problem } from "../../../src/errors.ts";
import { DATA_FRAME_COST_BYTES, FROM_GUEST, TO_GUEST, WINDOW_BYTES } from "../../../src/wire/messages.ts";
import { LIMITS, makeGuest, Puppet } from "../puppet.ts";
import { type Recorder, start } from "../recorder.ts";

const HEAD = { status: 200, headers: [] };

describe("a guest that starts", () => {
  it("is put under its limits after it has reported that it is warm, and not before", async (t) => {
    const puppet = await Puppet.make(t);
    const guest = new Guest(puppet, LIMITS);
    const ready = guest.ready();
    assert.equal(puppet.sealed, 0);
    puppet.say(FROM_GUEST.ready, 0);
    assert.equal(await ready, guest);
    assert.equal(puppet.sealed, 1);
  });

  it("is a failure of the sandbox if it ends before, and only the log has the reason", async (t) => {
    const puppet = await Puppet.make(t);
    const ready = new Guest(puppet, LIMITS).ready();
    puppet.exit({ how: "exit code 1: bwrap: /secret" });
    await assert.rejects(ready, (problem: Problem) => {
      assert.equal(problem.code, "sandbox_failed");
      assert.doesNotMatch(problem.message, /secret/);
      assert.match((problem.cause as Error).message, /secret/);
      return true;
    });
  });
});

describe("code", () => {
  it("is sent once, and named by its id in every run", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const [first, second] = [start(guest, "1"), start(guest, "1")];
    const code = await puppet.next(TO_GUEST.code);
    for (const run of [first, second]) {
      const frame = await puppet.next(TO_GUEST.run);
      assert.equal(frame.id, run.id);
      assert.equal(frame.payload.readUInt32LE(0), code.id);
      assert.equal(frame.payload.toString("utf8", 4), "{}");
    }
    assert.ok(!puppet.received.some(({ type }) => type === TO_GUEST.code));
  });

  it("that never reads its context has none created after the guest has reported that", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const first = start(guest, "1");
    const code = await puppet.next(TO_GUEST.code);
    await puppet.next(TO_GUEST.run);
    puppet.say(FROM_GUEST.compiled, code.id, Uint8Array.of(0));
    puppet.say(FROM_GUEST.result, first.id, "1");
    await first.ended;
    start(guest, "1", () => assert.fail("a context was made"));
    assert.equal((await puppet.next(TO_GUEST.run)).payload.length, 4);
  });
});

describe("runs in flight", () => {
  it("are each answered by their id, in any order", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const runs = ["a", "b", "c"].map((source) => start(guest, source));
    for (const run of runs.toReversed()) puppet.say(FROM_GUEST.result, run.id, `"${run.id}"`);
    for (const run of runs) assert.equal(await run.outcome(), `result "${run.id}"`);
    assert.equal(guest.inFlight.size, 0);
    assert.equal(guest.runs, 3);
  });

  it("receive a stream as it arrives: head, data, end", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const run = start(guest, "a");
    puppet.say(FROM_GUEST.log, run.id, Uint8Array.of(2, 0x68, 0x69));
    puppet.say(FROM_GUEST.head, run.id, HEAD);
    puppet.say(FROM_GUEST.data, run.id, "abc");
    puppet.say(FROM_GUEST.end, run.id);
    await run.ended;
    assert.deepEqual(run.events, ["log 2 hi", "head 200", "data 3", "end"]);
  });

  it("get the time of a stream when its head has arrived", async (t) => {
    const { guest, puppet } = await makeGuest(t, { wallMs: 1_000, streamMs: 1_000_000 });
    const run = start(guest, "a");
    const beforeMs = guest.inFlight.get(run.id)!.deadlineMs;
    puppet.say(FROM_GUEST.head, run.id, HEAD);
    await run.received("head 200");
    assert.ok(guest.inFlight.get(run.id)!.deadlineMs > beforeMs + 900_000);
  });

  it("receive nothing after their end, whatever frames follow, and other runs are not affected", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const [over, other] = [start(guest, "a"), start(guest, "b")];
    puppet.say(FROM_GUEST.result, over.id, "1");
    puppet.say(FROM_GUEST.result, over.id, "2");
    puppet.say(FROM_GUEST.head, over.id, HEAD);
    puppet.say(FROM_GUEST.data, over.id, "late");
    puppet.say(FROM_GUEST.fault, over.id, { code: "task_threw", detail: "late" });
    puppet.say(FROM_GUEST.end, over.id);
    puppet.say(FROM_GUEST.done, over.id);
    puppet.say(FROM_GUEST.result, other.id, "3");
    assert.equal(await other.outcome(), "result 3");
    assert.deepEqual(over.events, ["result 1"]);
    assert.equal(guest.ended, false);
  });

  it("still log after their end, each by its id", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const runs = ["a", "b"].map((source) => start(guest, source));
    for (const run of runs) puppet.say(FROM_GUEST.result, run.id, "1");
    const [first, second] = runs as [Recorder, Recorder];
    puppet.say(FROM_GUEST.log, second.id, Uint8Array.of(1, 0x62));
    puppet.say(FROM_GUEST.lateError, first.id, { code: "task_threw", detail: "late" });
    puppet.say(FROM_GUEST.log, first.id, Uint8Array.of(1, 0x61));
    await first.receivedLate("log 1 a");
    assert.deepEqual(first.events, ["result 1", "late error late", "log 1 a"]);
    assert.deepEqual(second.events, ["result 1", "log 1 b"]);
  });

  it("that have work after their answer end with that work, and keep their guest until then", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const run = start(guest, "a");
    puppet.say(FROM_GUEST.waits, run.id);
    puppet.say(FROM_GUEST.result, run.id, "1");
    await run.ended;
    guest.retire();
    puppet.say(FROM_GUEST.result, run.id, "2");
    puppet.say(FROM_GUEST.log, run.id, Uint8Array.of(1, 0x61));
    await run.receivedLate("log 1 a");
    assert.deepEqual([guest.ended, guest.inFlight.size, run.events], [false, 1, ["result 1", "log 1 a"]]);
    puppet.say(FROM_GUEST.done, run.id);
    await run.isOver.promise;
    await puppet.exited;
    assert.deepEqual(run.events, ["result 1", "log 1 a"]);
  });

  it("whose guest ends during that work have a late error in addition to their answer", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const [answered, other] = [start(guest, "a"), start(guest, "b")];
    puppet.say(FROM_GUEST.waits, answered.id);
    puppet.say(FROM_GUEST.result, answered.id, "1");
    await answered.ended;
    guest.crash(EXITED_BY_ANOTHER);
    await answered.isOver.promise;
    assert.deepEqual(answered.events, ["result 1", `late error ${EXITED_BY_ANOTHER.message}`]);
    assert.deepEqual(other.events, ["container_restarted"]);
  });

  it("whose client leaves may finish the work that they passed to waitUntil", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const run = start(guest, "a");
    puppet.say(FROM_GUEST.waits, run.id);
    puppet.say(FROM_GUEST.log, run.id, Uint8Array.of(1, 0x61));
    await run.received("log 1 a");
    guest.inFlight.abandon(run.id);
    assert.equal((await puppet.next(TO_GUEST.abort)).payload.toString(), "gone");
    assert.equal(guest.inFlight.size, 1);
    puppet.say(FROM_GUEST.done, run.id);
    await run.isOver.promise;
    assert.equal(guest.inFlight.size, 0);
  });

  it("are not affected by frames with unknown ids, or with the id of an ended run", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const before = start(guest, "a");
    puppet.say(FROM_GUEST.result, before.id, "1");
    await before.ended;
    const run = start(guest, "a");
    assert.notEqual(run.id, before.id);
    for (const id of [before.id, run.id + 1, 0xffff_ffff]) {
      puppet.say(FROM_GUEST.result, id, '"forged"');
      puppet.say(FROM_GUEST.head, id, HEAD);
      puppet.say(FROM_GUEST.data, id, "forged");
    }
    puppet.say(FROM_GUEST.compiled, 77, Uint8Array.of(0));
    puppet.say(FROM_GUEST.result, run.id, '"own"');
    assert.equal(await run.outcome(), 'result "own"');
    assert.equal(guest.ended, false);
  });

  it("that are abandoned receive an abort, and their answers are ignored", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const [left, other] = [start(guest, "a"), start(guest, "b")];
    guest.inFlight.abandon(left.id);
    const abort = await puppet.next(TO_GUEST.abort);
    assert.deepEqual([abort.id, abort.payload.toString()], [left.id, "gone"]);
    puppet.say(FROM_GUEST.result, left.id, "1");
    puppet.say(FROM_GUEST.result, other.id, "2");
    await other.ended;
    assert.deepEqual(left.events, []);
    assert.equal(guest.ended, false);
  });

  it("that are cancelled one after the other leave their guest to the runs of other callers, and are no crash", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const other = start(guest, "a");
    for (let count = 0; count < 10; count++) {
      const run = start(guest, "b");
      guest.inFlight.cancel(run.id, new Problem("run_cancelled", "the run was cancelled"));
      assert.equal(await run.outcome(), "run_cancelled");
      // The second also releases the work after the answer.
      for (const reason of ["gone", "deadline"]) {
        const abort = await puppet.next(TO_GUEST.abort);
        assert.deepEqual([abort.id, abort.payload.toString()], [run.id, reason]);
      }
    }
    assert.deepEqual([guest.draining, guest.crashedMs], [false, null]);
    puppet.say(FROM_GUEST.result, other.id, "2");
    assert.equal(await other.outcome(), "result 2");
  });
});

describe("a body", () => {
  // Four of these fill the whole window, including the cost of their frames.
  const full = Buffer.alloc(WINDOW_BYTES / 4 - DATA_FRAME_COST_BYTES);

  it("may fill its window to the last byte, and continue after a grant", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const run = start(guest, "a");
    puppet.say(FROM_GUEST.head, run.id, HEAD);
    for (let count = 0; count < 4; count++) puppet.say(FROM_GUEST.data, run.id, full);
    puppet.say(FROM_GUEST.log, run.id, Uint8Array.of(0));
    await run.received("log 0 ");
    guest.inFlight.grant(run.id, WINDOW_BYTES / 4);
    const grant = await puppet.next(TO_GUEST.window);
    assert.deepEqual([grant.id, grant.payload.readUInt32LE()], [run.id, WINDOW_BYTES / 4]);
    puppet.say(FROM_GUEST.data, run.id, full);
    puppet.say(FROM_GUEST.end, run.id);
    assert.equal(await run.outcome(), "end");
    assert.equal(run.bodyBytes, 5 * full.length);
  });

  it("that exceeds its window ends the guest, and the excess is not passed on", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const run = start(guest, "a");
    puppet.say(FROM_GUEST.head, run.id, HEAD);
    for (let count = 0; count < 4; count++) puppet.say(FROM_GUEST.data, run.id, full);
    puppet.say(FROM_GUEST.data, run.id, full);
    assert.equal(await run.outcome(), "task_exited");
    assert.equal(run.bodyBytes, 4 * full.length);
    assert.ok(guest.ended && puppet.killed);
  });

  it("that is not read receives no grant", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const run = start(guest, "a");
    guest.inFlight.grant(run.id, 0);
    guest.inFlight.grant(run.id + 1, 10);
    guest.inFlight.abort(run.id, "deadline");
    await puppet.next(TO_GUEST.abort);
    assert.ok(!puppet.received.some(({ type }) => type === TO_GUEST.window));
  });
});

describe("a guest that is retired", () => {
  it("may have requested it: its runs end normally, and it takes no new run", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const run = start(guest, "a");
    puppet.say(FROM_GUEST.retire, 0);
    puppet.say(FROM_GUEST.result, run.id, "1");
    assert.equal(await run.outcome(), "result 1");
    assert.equal(guest.draining, true);
    await guest.process.exited;
  });

  it("may have requested it when no further guest may drain: it takes runs until it has none", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    guest.mayDrain = () => false;
    const [first, second] = [start(guest, "a"), start(guest, "b")];
    puppet.say(FROM_GUEST.retire, 0);
    puppet.say(FROM_GUEST.result, first.id, "1");
    assert.equal(await first.outcome(), "result 1");
    assert.deepEqual([guest.draining, guest.isDue], [false, true]);
    puppet.say(FROM_GUEST.result, second.id, "2");
    await guest.process.exited;
  });

  it("ends at once if no run is in flight", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    guest.retire();
    assert.ok(guest.ended && puppet.killed);
  });

  it("lets every run return its own result, and then ends", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const [first, last] = [start(guest, "a"), start(guest, "b")];
    guest.retire();
    assert.equal(guest.draining, true);
    puppet.say(FROM_GUEST.result, first.id, "1");
    assert.equal(await first.outcome(), "result 1");
    assert.equal(guest.ended, false);
    puppet.say(FROM_GUEST.result, last.id, "2");
    assert.equal(await last.outcome(), "result 2");
    await puppet.exited;
    assert.ok(guest.ended);
  });

  it("also ends if its last run was abandoned", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const run = start(guest, "a");
    guest.retire();
    guest.inFlight.abandon(run.id);
    await puppet.exited;
    assert.ok(guest.ended);
  });

  it("may have requested it with the fault of a run", async (t) => {
    const { guest, puppet } = await makeGuest(t);
    const [broken, other] = [start(guest, "a"), start(guest, "b")];
    puppet.say(FROM_GUEST.fault, broken.id, { code: "code_syntax", detail: "nested", retire: true });
    assert.equal(await broken.outcome(), "code_syntax");
    assert.deepEqual([guest.draining, guest.ended], [true, false]);
    puppet.say(FROM_GUEST.result, other.id, "1");
    assert.equal(await other.outcome(), "result 1");
    await puppet.exited;
    assert.ok(guest.ended);
  });
});
