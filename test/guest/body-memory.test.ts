import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { until } from "../contract/until.ts";
import { GuestProcess } from "./guest-process.ts";

const KIB = 2 ** 10;
const JSON_TYPE = "application/json";
/** Runs overlap, as those of a task that waits for a server. */
const LENGTH = "async ({ body }) => { await new Promise((end) => setTimeout(end, 500)); return body.length }";

/** Returns a JSON list of this number of bytes. */
function listOf(item: string, bytes: number): { body: Buffer; length: number } {
  const length = Math.floor((bytes - 2) / (item.length + 1));
  return { body: Buffer.from(`[${Array(length).fill(item).join(",")}]`), length };
}

describe("the bodies of runs that share a guest", () => {
  let guest: GuestProcess;
  let code: number;
  before(async () => {
    guest = await GuestProcess.start();
    code = guest.code(LENGTH);
  });
  after(() => guest.close());

  /** Starts runs at once. @returns the results, or their faults */
  async function results(times: number, body: Buffer, type: string): Promise<unknown[]> {
    const context = { headers: { "content-type": type } };
    const runs = Array.from({ length: times }, () => guest.start(code, context, { body }));
    const outcomes = await Promise.all(runs.map(({ outcome }) => outcome));
    return outcomes.map(({ result, ...rest }) => (result === undefined ? rest : JSON.parse(result)));
  }

  it("wait for each other if their values do not fit into its memory at once", async () => {
    // V8 takes forty bytes for each character.
    const { body, length } = listOf('{"34":0}', 512 * KIB);
    for (const type of [JSON_TYPE, "application/x-www-form-urlencoded"]) {
      assert.deepEqual(await results(6, body, type), Array(6).fill(length));
    }
  });

  it("wait for each other if their texts do not fit", async () => {
    const text = "€".repeat(1_300 * KIB);
    assert.deepEqual(await results(50, Buffer.from(text), "text/plain"), Array(50).fill(text.length));
  });

  it("do not wait for a body whose run has been aborted", async () => {
    const { body, length } = listOf('{"34":0}', 1_000 * KIB);
    const never = guest.code("({ body }) => new Promise(() => {})");
    const context = { headers: { "content-type": JSON_TYPE } };
    const aborted = [never, never, never].map((each) => guest.start(each, context, { body }).id);
    await guest.ping();
    const waiting = results(1, body, JSON_TYPE);
    for (const id of aborted) guest.abort(id, "gone");
    assert.deepEqual(await waiting, [length]);
  });

  it("of other callers take turns, and small ones do not wait for large ones that are held", async () => {
    const { body } = listOf('{"34":0}', 1_000 * KIB);
    const holds = guest.code(
      "({ body, signal }) => { console.log('holds'); return new Promise((end) => signal.addEventListener('abort', end)) }",
    );
    const length = guest.code("({ body }) => body.length");
    const context = { headers: { "content-type": JSON_TYPE } };
    const ids = Array.from({ length: 6 }, () => guest.start(holds, context, { body, caller: 1 }).id);
    await until(() => guest.logs.length > 0, "a run holds its body");
    const small = listOf('{"id":1234,"name":"a line of an order"}', 100 * KIB);
    const { outcome } = guest.start(length, context, { body: small.body, caller: 2 });
    assert.equal((await outcome).result, String(small.length));
    const large = guest.start(length, context, { body, caller: 2 });
    await until(() => guest.unsentBytes === 0, "all bodies have arrived");
    await guest.ping();
    // The next turn is that of the other caller, although five runs of the first caller have waited for longer.
    guest.abort(guest.logs[0]!.run, "gone");
    assert.equal(typeof (await large.outcome).result, "string");
    for (const id of ids) guest.abort(id, "gone");
  });

  it("are not all read at once, also if they are complete", async () => {
    const holds = guest.code("({ signal }) => new Promise((end) => signal.addEventListener('abort', end))");
    const context = { headers: { "content-type": "text/plain" } };
    const body = Buffer.alloc(3_900 * KIB, "x");
    const ids = Array.from({ length: 30 }, (_, at) => guest.start(holds, context, { body, caller: at }).id);
    let unsent = Infinity;
    while (guest.unsentBytes < unsent) {
      unsent = guest.unsentBytes;
      for (let turn = 0; turn < 10; turn++) await guest.ping();
    }
    const read = ids.length * body.length - unsent;
    // An eighth of the heap of 96 MiB, one whole body more, and the beginning of each further one.
    assert.ok(read < (ids.length * body.length) / 2, `${read} bytes are read`);
    for (const id of ids) guest.abort(id, "gone");
  });

  it("are refused if the values of one body alone may not fit", async () => {
    const { body } = listOf(`${'{"34":'.repeat(60)}0${"}".repeat(60)}`, 2_048 * KIB);
    const [outcome] = (await results(1, body, JSON_TYPE)) as [{ fault: { code: string; detail: string } }];
    assert.equal(outcome.fault.code, "request_invalid");
    assert.equal(outcome.fault.detail, "the values of the body may take more than 66 MiB of memory");
  });
});
