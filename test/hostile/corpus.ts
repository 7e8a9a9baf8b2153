import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { type Home, leave, type Service, startService } from "../contract/service.ts";
import { until } from "../contract/until.ts";
import { assault, NEIGHBOUR } from "./assault.ts";
import { type Attack, readAttacks } from "./attack.ts";
import { type Canaries, setOutCanaries } from "./canaries.ts";
import { type Row, table } from "./table.ts";

/** Short, so that what takes all of something is soon at its end. */
const LIMITS = { block: "500ms", memory: "96MiB", tmp: "16MiB", idle: "3s" };
/** What ends before it does on a busy machine is told by its own cause, and what lasts for ever is soon at its deadline. */
const WALL = { "ends by itself": "30s", "lasts for ever": "3s" };
const POOL = 3;
/** Attacks at a time. Most wait more than they burn; with more of them a small machine tells nothing but how busy it is. */
const AT_ONCE = 4;
const CALM_MS = 60_000;

interface Target {
  readonly home: Home;
  readonly service: Service;
  /** What the programs of all guests were at the start. */
  readonly programs: string;
}

/** What is attacked: a level, and who starts it. */
export interface Held {
  readonly level: string;
  /** In words. */
  readonly started: string;
  readonly make: () => Promise<Home>;
  /** Why it cannot be attacked here. */
  readonly skip: string | false;
  /** Which attacks: all of them but where something else has stood them all. */
  readonly chosen: (attack: Attack) => boolean;
}

/** Runs the attacks of the corpus against one level, and holds what section 6 of the contract promises of each. */
export function holdCorpus({ level, started, make, skip, chosen }: Held): void {
  describe(`the level ${level}, started ${started}`, { skip }, () => holdAttacks(level, make, chosen));
}

function holdAttacks(level: string, make: () => Promise<Home>, chosen: (attack: Attack) => boolean): void {
  const rows: Row[] = [];
  let canaries: Canaries;
  let targets: Readonly<Record<keyof typeof WALL, Target>>;

  before(async () => {
    canaries = await setOutCanaries();
    targets = {
      "ends by itself": await start(level, await make(), WALL["ends by itself"], canaries),
      "lasts for ever": await start(level, await make(), WALL["lasts for ever"], canaries),
    };
  });
  after(async () => {
    console.log(table(rows));
    for (const { service, home } of Object.values(targets)) await leave(service, home);
    await canaries[Symbol.asyncDispose]();
  });

  describe("an attack", { concurrency: AT_ONCE }, () => {
    for (const attack of readAttacks(level).filter(chosen)) {
      it(`${attack.kind}: ${attack.title}`, async () => {
        const { service } = targets[attack.length];
        const row: Row = { kind: attack.kind, name: attack.name, expected: "", outcome: "", ms: 0 };
        rows.push(row);
        await assault(service, canaries, attack, row);
        assert.equal((await service.request("GET", "/healthz", { token: null })).status, 200);
      });
    }
  });

  describe("after all attacks", () => {
    it("nothing of the host was reached, changed or told", () => {
      canaries.assertUntouched();
      for (const { service, home, programs } of Object.values(targets)) {
        assert.ok(!service.stderr().includes(canaries.secret), "the secret stands in the log");
        assert.equal(digestOf(home.tmp), programs, "the programs of the guests are as they were");
      }
    });

    it("what asked for the machine's own network was refused for the address that it led to", async () => {
      if (!rows.some(({ kind }) => kind === "egress")) return;
      const { service } = targets["ends by itself"];
      const { egressRefused } = (await service.request("GET", "/healthz", { token: null })).json() as {
        egressRefused: Record<string, number>;
      };
      assert.ok(egressRefused["address"]! > 100, JSON.stringify(egressRefused));
    });

    it("no guest is left but those of the pool", async () => {
      for (const { service } of Object.values(targets)) {
        // The service closes idle containers after `idle`, and the pool ends the guests that it grew by after its window.
        const isBack = async (): Promise<boolean> => (await guestsOf(service)) <= POOL;
        await until(isBack, "the guests of idle containers have ended", CALM_MS);
        assert.equal((await service.run(NEIGHBOUR, "6 * 7")).text, "42");
      }
    });
  });
}

async function start(level: string, home: Home, wall: string, { flags }: Canaries): Promise<Target> {
  const limits = Object.entries({ ...LIMITS, wall, stream: wall }).flatMap(([name, value]) => [
    `--${name}-limit`,
    value,
  ]);
  const service = await startService(
    ["--isolation", level, "--pool", String(POOL), "--pool-window", "3s", ...flags, ...limits],
    home,
  );
  return { home, service, programs: digestOf(home.tmp) };
}

/** Of the programs that all guests are made from; those that a guest of the level `confined` has are further names of them. */
function digestOf(folder: string): string {
  const ofGuests = ["jail/roots", "guests"].map((roots) => path.join(folder, `caisson-run-*/${roots}/**`));
  const files = globSync(path.join(folder, "**"), { exclude: ofGuests, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
  const digest = createHash("sha256");
  for (const file of files.toSorted()) digest.update(`${file}\0`).update(readFileSync(file));
  return digest.digest("hex");
}

async function guestsOf({ trail }: Service): Promise<number> {
  return (await trail.processes()).filter(({ kind }) => kind === "guest").length;
}
