import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { type Home, type Service, startService } from "../contract/service.ts";
import { until } from "../contract/until.ts";
import { assault, NEIGHBOUR, SHARED } from "./assault.ts";
import { type Attack, type Ending, readAttacks } from "./attack.ts";
import { type Canaries, createCanaries } from "./canaries.ts";
import { type Row, table } from "./table.ts";

/** Small limits, so that an attack that exhausts a resource ends soon. */
const SIZES = { memory: "96MiB", tmp: "16MiB", idle: "2s" };
/**
 * The time limits of a service, by the limit that an attack reaches. The other limits are so long that an attack ends before
 * them, also on a slow and busy machine.
 */
const TIMES: Readonly<Record<Ending, { readonly wall: string; readonly block: string }>> = {
  "the deadline": { wall: "3s", block: "20s" },
  "the block limit": { wall: "60s", block: "500ms" },
  "its own end": { wall: "60s", block: "20s" },
};
const POOL = 3;
/** The number of attacks at a time. Most attacks wait more than they burn. With more attacks, a small machine is too busy to judge them. */
const AT_ONCE: Readonly<Record<Ending, number>> = { "the deadline": 4, "the block limit": 3, "its own end": 3 };
const CALM_MS = 60_000;

interface Target {
  readonly home: Home;
  readonly service: Service;
  /** The contents of all guests' programs at the start. */
  readonly programs: string;
}

/** The attacked isolation level, and the user that starts the service. */
export interface Held {
  readonly level: string;
  /** A description for the titles of tests. */
  readonly started: string;
  readonly make: () => Promise<Home>;
  /** The reason if it cannot be attacked here. */
  readonly skip: string | false;
  /** The attacks that run at this level. All run by default. */
  readonly chosen: (attack: Attack) => boolean;
}

/** Runs the attacks of the corpus against one level, and asserts what section 6 of the contract promises for each. */
export function holdCorpus({ level, started, make, skip, chosen }: Held): void {
  describe(`the level ${level}, started ${started}`, { skip }, () => holdAttacks(level, make, chosen));
}

function holdAttacks(level: string, make: () => Promise<Home>, chosen: (attack: Attack) => boolean): void {
  const rows: Row[] = [];
  const opened = new AsyncDisposableStack();
  let canaries: Canaries;
  const attacks = readAttacks(level).filter(chosen);
  const endings = [...new Set(attacks.map(({ ending }) => ending))];
  const targets = new Map<Ending, Target>();

  before(async () => {
    canaries = opened.use(await createCanaries());
    const starts = endings.map(async (ending) => {
      const home = opened.use(await make());
      const service = await start(level, home, ending, canaries);
      opened.defer(() => service.stop());
      targets.set(ending, { home, service, programs: digestOf(home.tmp) });
    });
    // Stops the services that have started, also if the start of another failed.
    await Promise.allSettled(starts);
    await Promise.all(starts);
  });
  after(async () => {
    console.log(table(rows));
    await opened.disposeAsync();
  });

  describe("an attack", { concurrency: true }, () => {
    for (const ending of endings) {
      const these = attacks.filter((each) => each.ending === ending);
      const [sharing, apart] = [true, false].map((each) => these.filter((attack) => attack.changesNothing === each));
      const holdOne = (attack: Attack, container?: string): void => {
        it(`${attack.kind}: ${attack.title}`, async () => {
          const { service } = targets.get(ending)!;
          const row: Row = { kind: attack.kind, name: attack.name, expected: "", outcome: "", ms: 0 };
          rows.push(row);
          await assault(service, canaries, attack, row, container);
          assert.equal((await service.request("GET", "/healthz", { token: null })).status, 200);
        });
      };
      describe(`that runs until ${ending}`, { concurrency: AT_ONCE[ending] }, () => {
        // One after the other, because two attacks in one guest at the same time could disturb each other.
        describe("and leaves its guest as it was, in one container", { concurrency: 1 }, () => {
          for (const attack of sharing!) holdOne(attack, SHARED);
        });
        for (const attack of apart!) holdOne(attack);
      });
    }
  });

  describe("after all attacks", () => {
    it("nothing on the host was reached, changed or disclosed", () => {
      canaries.assertUntouched();
      for (const { service, home, programs } of targets.values()) {
        assert.ok(!service.stderr().includes(canaries.secret), "the secret stands in the log");
        assert.equal(digestOf(home.tmp), programs, "the programs of the guests are as they were");
      }
    });

    it("requests for the machine's own network were refused by their addresses", async () => {
      if (!rows.some(({ kind }) => kind === "egress")) return;
      const { service } = targets.get("its own end")!;
      const { egressRefused } = (await service.request("GET", "/healthz", { token: null })).json() as {
        egressRefused: Record<string, number>;
      };
      assert.ok(egressRefused["address"]! > 100, JSON.stringify(egressRefused));
    });

    it("only the guests of the pool are left", async () => {
      for (const { service } of targets.values()) {
        // The service closes idle containers after `idle`, and the pool ends its additional spares after its window.
        const isBack = async (): Promise<boolean> => (await guestsOf(service)) <= POOL;
        await until(isBack, "the guests of idle containers have ended", CALM_MS);
      }
      // Runs after the count, because the neighbour's own guest would otherwise be counted, too.
      for (const { service } of targets.values()) assert.equal((await service.run(NEIGHBOUR, "6 * 7")).text, "42");
    });
  });
}

function start(level: string, home: Home, ending: Ending, { flags }: Canaries): Promise<Service> {
  const { wall, block } = TIMES[ending];
  const limits = Object.entries({ ...SIZES, wall, block, stream: wall }).flatMap(([name, value]) => [
    `--${name}-limit`,
    value,
  ]);
  return startService(["--isolation", level, "--pool", String(POOL), "--pool-window", "2s", ...flags, ...limits], home);
}

/** The programs of all guests. The files of a guest at the level `confined` are hard links to them. */
function digestOf(folder: string): string {
  // A text that needs a transform makes the service put esbuild into the jail.
  const ofGuests = ["jail/roots", "jail/template/esbuild", "jail/esbuild-roots", "guests"].map((roots) =>
    path.join(folder, `caisson-run-*/${roots}{,/**}`),
  );
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
