import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { GuestProcess } from "./guest-process.ts";

const JSON_TYPE = { "content-type": "application/json" };
const FORM = { "content-type": "application/x-www-form-urlencoded" };
/** What the guest has used of the processor, in microseconds, when the code of the run begins. */
const USED = "({ query, body }) => { const { user, system } = process.cpuUsage(); return user + system; }";

interface Input {
  readonly url?: string;
  readonly body?: Buffer;
}

/** Returns a form that has one symbol a million times. */
function form(symbol: string): Input {
  return { body: Buffer.from(`a=${symbol.repeat(2 ** 20)}`) };
}

describe("the input of one run, for whose parse all other runs in its guest wait", () => {
  let guest: GuestProcess;
  let code: number;
  before(async () => {
    guest = await GuestProcess.start();
    code = guest.code(USED);
  });
  after(() => guest.close());

  async function used({ url = "http://localhost/", body }: Input): Promise<number> {
    const { result } = await guest.start(code, { url, headers: FORM }, body && { body }).outcome;
    return Number(result);
  }

  /** Returns the processor time that the guest takes for an input, the least of some rounds. */
  async function costOf(input: Input): Promise<number> {
    let least = Infinity;
    for (let round = 0; round < 4; round += 1) {
      const start = await used({});
      least = Math.min(least, (await used(input)) - start);
    }
    return least;
  }

  it("takes about as long for many values of one name as for many names in a query", async () => {
    const pairs = Array.from({ length: 8_000 }, (_, at) => at.toString(36));
    const names = await costOf({ url: `http://localhost/?${pairs.map((name) => `${name}=`).join("&")}` });
    const values = await costOf({ url: `http://localhost/?${pairs.map((name) => `a=${name}`).join("&")}` });
    assert.ok(values < 2 * names, `${values} µs for the values of one name, ${names} µs for names`);
  });

  it("takes about as long for plus signs as for letters in a form", async () => {
    // The first rounds show what it takes until V8 has optimized what both need.
    await costOf(form("x"));
    const letters = await costOf(form("x"));
    const pluses = await costOf(form("+"));
    assert.ok(pluses < 5 * letters, `${pluses} µs for plus signs, ${letters} µs for letters`);
  });

  it("is parsed as JSON or refused in the same way if it is long", async () => {
    const rows = Array.from({ length: 20_000 }, (_, at) => ({ id: at, name: `n${at}` }));
    const sum = guest.code("({ body, data }) => [body.rows.length, data.rows.at(-1).name]");
    const json = JSON.stringify({ rows });
    for (const type of [JSON_TYPE, FORM]) {
      const { result } = await guest.start(sum, { headers: type }, { body: Buffer.from(json) }).outcome;
      assert.deepEqual(JSON.parse(result!), [20_000, "n19999"]);
    }
    const cut = { body: Buffer.from(json.slice(0, -1)) };
    const { fault } = await guest.start(sum, { headers: JSON_TYPE }, cut).outcome;
    assert.equal(fault?.detail, "the body is not JSON");
    const names = guest.code("({ body }) => Object.keys(body).length");
    const { result } = await guest.start(names, { headers: FORM }, cut).outcome;
    assert.equal(result, "1");
  });
});
