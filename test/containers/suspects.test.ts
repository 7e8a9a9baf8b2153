import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import type { Guest } from "../../src/containers/guest.ts";
import { Suspects } from "../../src/containers/suspects.ts";
import { pause } from "../contract/until.ts";
import { IDLE, makeGuest, type Puppet } from "./puppet.ts";

const BLOCK_MS = 2_000;
const ENOUGH_MS = 250;

interface Silent {
  readonly guest: Guest;
  readonly puppet: Puppet;
  burnedMs: number;
  state: string;
}

/** In whole milliseconds, so that those of a test add up exactly. */
function wholeMs(): number {
  return Math.round(performance.now());
}

/** A guest that owes an answer since then. */
async function makeSilent(t: TestContext, pingedMs: number): Promise<Silent> {
  const { guest, puppet } = await makeGuest(t);
  guest.ping(pingedMs);
  const silent = { guest, puppet, burnedMs: 0, state: "R" };
  puppet.status = () => ({ ...IDLE, state: silent.state, cpuMs: silent.burnedMs });
  return silent;
}

/** One look at each, and who has a turn then. */
async function look(suspects: Suspects, guests: readonly Silent[], nowMs: number): Promise<string> {
  for (const { guest } of guests) suspects.watch(guest, guest.heartbeat.pingedMs!, nowMs);
  await pause(1);
  suspects.takeTurns(nowMs);
  return guests.map(({ guest }) => guest.priority).join(" ");
}

describe("guests that all want the processor and answer nobody", () => {
  it("have their share back in turns, the longest silent first, as many at a time as there are processors", async (t) => {
    const nowMs = wholeMs();
    const ended: Guest[] = [];
    const suspects = new Suspects({ blockMs: BLOCK_MS, cpuCores: 1 }, (guest) => ended.push(guest), 2);
    const guests = [];
    for (const ago of [700, 900, 600, 800]) guests.push(await makeSilent(t, nowMs - ago));
    assert.equal(await look(suspects, guests, nowMs), "low normal low normal");
    guests[1]!.burnedMs = ENOUGH_MS;
    assert.equal(await look(suspects, guests, nowMs + 25), "normal low low normal", "its turn is over");
    guests[3]!.guest.heartbeat.end();
    assert.equal(await look(suspects, guests.slice(0, 3), nowMs + 50), "normal low normal", "another answered");
    assert.deepEqual(ended, []);
  });

  it("go back in the row where a turn of half a second was not enough", async (t) => {
    const nowMs = wholeMs();
    const suspects = new Suspects({ blockMs: BLOCK_MS, cpuCores: 1 }, () => {}, 1);
    const guests = [];
    for (const ago of [800, 500, 700]) guests.push(await makeSilent(t, nowMs - ago));
    assert.equal(await look(suspects, guests, nowMs), "normal low low");
    assert.equal(await look(suspects, guests, nowMs + 499), "normal low low");
    assert.equal(await look(suspects, guests, nowMs + 500), "low low normal");
    assert.equal(await look(suspects, guests, nowMs + 1_000), "low normal low");
    assert.equal(await look(suspects, guests, nowMs + 1_500), "normal low low", "it is the longest silent again");
  });

  it("are blocked by a short step when their turns have lasted as long as the limit", async (t) => {
    const nowMs = wholeMs();
    const ended: Guest[] = [];
    const suspects = new Suspects({ blockMs: BLOCK_MS, cpuCores: 1 }, (guest) => ended.push(guest), 2);
    const [burns, starved] = [await makeSilent(t, nowMs - 5_000), await makeSilent(t, nowMs - 5_000)];
    await look(suspects, [burns, starved], nowMs);
    // What it burned has to be a small part of the time that has passed, or it is blocked for that.
    await pause(200);
    burns.burnedMs = 50;
    starved.burnedMs = 40;
    for (let at = 500; at <= 2_000; at += 500) await look(suspects, [burns, starved], nowMs + at);
    assert.deepEqual(ended, [], "the turns have only just lasted so long");
    for (let at = 2_500; at <= 4_000; at += 500) await look(suspects, [burns, starved], nowMs + at);
    assert.deepEqual(new Set(ended), new Set([burns.guest]));
  });

  it("have no turn while they sleep, and none before a quarter of the limit", async (t) => {
    const nowMs = wholeMs();
    const suspects = new Suspects({ blockMs: BLOCK_MS, cpuCores: 1 }, () => {}, 2);
    const sleeper = await makeSilent(t, nowMs - 900);
    const early = await makeSilent(t, nowMs - 400);
    const guests = [sleeper, early, await makeSilent(t, nowMs - 600)];
    await look(suspects, guests, nowMs);
    sleeper.state = "S";
    assert.equal(await look(suspects, guests, nowMs + 25), "low low normal");
    assert.equal(await look(suspects, guests, nowMs + 125), "low normal normal");
  });
});
