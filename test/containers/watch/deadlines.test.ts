import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Guest } from "../../../src/containers/guest/guest.ts";
import { pause, until } from "../../contract/until.ts";
import { type Recorder, start } from "../recorder.ts";
import { CONTEXT, WatchedGuests } from "./watched-guests.ts";

const guests = new WatchedGuests();

describe("work that a run passed to waitUntil", () => {
  it("ends with the deadline of the run, which has its answer, and its guest takes no new run", async (t) => {
    const guest = await guests.make(t, { wallMs: 2_000 });
    const code = `module.exports = (context) => {
      context.signal.onabort = () => console.log("aborted");
      context.waitUntil(new Promise((never) => setTimeout(never, 60_000)));
      return 1;
    }`;
    const run = start(guest, code, () => CONTEXT);
    await pause(1_000);
    // Another run keeps the guest alive after the deadline, so that its last line can arrive after the grace time.
    start(guest, "await new Promise((never) => setTimeout(never, 60_000))");
    await run.isOver.promise;
    await run.receivedLate("log 1 aborted");
    assert.deepEqual(run.events.toSorted(), [
      "late error the work that the task passed to waitUntil did not end by the deadline of its run",
      "log 1 aborted",
      "result 1",
    ]);
    assert.ok(guest.draining);
  });
});

describe("a run past its deadline", () => {
  it("ends alone: its signal aborts, other runs return their results, and then the guest ends", async (t) => {
    const wallMs = 700;
    const guest = await guests.make(t, { wallMs });
    const late = start(
      guest,
      `(context) => new Promise(() => context.signal.addEventListener("abort", () => { globalThis.aborted = true }))`,
      () => CONTEXT,
    );
    // Started later, so that its own deadline is later.
    const began = start(guest, `await new Promise((end) => setTimeout(end, ${wallMs / 2}))`);
    assert.equal(await began.outcome(), "result null");
    const other = start(
      guest,
      `await new Promise((end) => { const timer = setInterval(() => globalThis.aborted && end(clearInterval(timer)), 5) });
       return "aborted"`,
    );
    assert.equal(await late.outcome(), "task_timeout");
    assert.match(late.problems[0]!.message, /within 700ms/);
    assert.deepEqual([guest.draining, guest.ended], [true, false]);
    assert.equal(await other.outcome(), 'result "aborted"');
    await guest.process.exited;
    assert.deepEqual(late.events, ["task_timeout"]);
  });

  it("is cut if it streams for longer than the stream limit, although its head arrived in time", async (t) => {
    const guest = await guests.make(t, { streamMs: 400 });
    const run = start(guest, `new Response(new ReadableStream({ start(c) { c.enqueue(new Uint8Array(3)) } }))`);
    assert.equal(await run.outcome(), "task_timeout");
    assert.deepEqual(run.events, ["head 200", "data 3", "task_timeout"]);
    assert.match(run.problems[0]!.message, /streaming after 400ms/);
    await guest.process.exited;
  });
});

describe("a run that computes past its own timeout", () => {
  const LOOP = "let n = 0;\nfor (;;) n += 1;";
  const loop = (guest: Guest): Recorder => start(guest, LOOP, () => CONTEXT, { timeoutMs: 500 });

  it("ends with its guest, and its answer has the line", async (t) => {
    // A guest that gets no processor does not answer late enough, or cannot print its line.
    const hasLine = async (): Promise<boolean> => {
      const guest = await guests.make(t, { blockMs: 60_000 });
      const run = loop(guest);
      assert.equal(await run.outcome(), "task_timeout");
      const { message, options } = run.problems[0]!;
      if (!options.at) return false;
      assert.match(message, /within 500ms, the timeout of this run: it computed without a pause, in line 2$/);
      assert.deepEqual([options.at.line, guest.ended], [2, true]);
      return true;
    };
    await until(hasLine, "the run has its line");
  });

  it("ends alone and without a line if another run is in its guest", async (t) => {
    const guest = await guests.make(t, { blockMs: 60_000 });
    const other = start(guest, "await new Promise((never) => setTimeout(never, 60_000))");
    const run = loop(guest);
    assert.equal(await run.outcome(), "task_timeout");
    assert.deepEqual([run.problems[0]!.options.at, guest.ended, other.events], [undefined, false, []]);
  });
});

describe("code that does not answer by its value", () => {
  it("gets a hint about the likely missing call at its deadline", async (t) => {
    const guest = await guests.make(t, { wallMs: 2_000, streamMs: 2_000 });
    const runs = [
      "(context, cb) => {}",
      "(context, req, res) => {}",
      "(context, req, res) => { res.write('half') }",
      "new Promise((never) => setTimeout(never, 60_000))",
    ].map((text) => start(guest, text, () => CONTEXT));
    const outcomes = await Promise.all(runs.map((run) => run.outcome()));
    assert.deepEqual(new Set(outcomes), new Set(["task_timeout"]));
    const hints = runs.map(({ problems }) => problems[0]!.options.hint);
    assert.match(hints[0]!, /^cb was never called/);
    assert.match(hints[1]!, /^res\.end\(\) was never called/);
    assert.match(hints[2]!, /ends its answer with res\.end\(\)/);
    assert.match(hints[3]!, /--wall-limit/);
  });
});
