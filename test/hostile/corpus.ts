import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { type Home, leave, makeHome, type Service, startService } from "../contract/service.ts";
import { until } from "../contract/until.ts";
import { type Attack, readAttacks, type Step } from "./attack.ts";
import { type Canaries, setOutCanaries } from "./canaries.ts";
import { assertAnswer, outcomeOf } from "./expectation.ts";
import { type Row, table } from "./table.ts";

/** Short, so that what takes all of something is soon at its end. */
const LIMITS = { block: "500ms", memory: "96MiB", tmp: "16MiB", idle: "3s" };
/** What ends before it does on a busy machine is told by its own cause, and what lasts for ever is soon at its deadline. */
const WALL = { "ends by itself": "30s", "lasts for ever": "3s" };
const POOL = 3;
/** Attacks at a time. Most wait more than they burn; with more of them a small machine tells nothing but how busy it is. */
const AT_ONCE = 4;
const NEIGHBOUR = "neighbour";

interface Target {
  readonly home: Home;
  readonly service: Service;
  /** What the programs of all guests were at the start. */
  readonly programs: string;
}

/** Runs every attack of the corpus against one rung, and holds what section 6 of the contract promises of each. */
export function holdCorpus(rung: string): void {
  const rows: Row[] = [];
  let canaries: Canaries;
  let targets: Readonly<Record<keyof typeof WALL, Target>>;

  before(async () => {
    canaries = await setOutCanaries();
    targets = {
      "ends by itself": await start(rung, WALL["ends by itself"]),
      "lasts for ever": await start(rung, WALL["lasts for ever"]),
    };
  });
  after(async () => {
    console.log(table(rows));
    for (const { service, home } of Object.values(targets)) await leave(service, home);
    await canaries[Symbol.asyncDispose]();
  });

  describe(`an attack on the rung ${rung}`, { concurrency: AT_ONCE }, () => {
    for (const attack of readAttacks()) {
      it(`${attack.kind}: ${attack.title}`, async () => {
        const { service } = targets[attack.length];
        const row: Row = { kind: attack.kind, name: attack.name, expected: "", outcome: "", ms: 0 };
        rows.push(row);
        for (const [index, step] of attack.steps.entries()) await submit(service, attack, step, index, row);
        await answersAgain(service, attack);
        assert.equal((await service.request("GET", "/healthz", { token: null })).status, 200);
      });
    }
  });

  describe(`after all attacks on the rung ${rung}`, () => {
    it("nothing of the host was reached, changed or told", () => {
      canaries.assertUntouched();
      for (const { service, home, programs } of Object.values(targets)) {
        assert.ok(!service.stderr().includes(canaries.secret), "the secret stands in the log");
        assert.equal(digestOf(home.tmp), programs, "the programs of the guests are as they were");
      }
    });

    it("no guest is left but those of the pool", async () => {
      for (const { service, home } of Object.values(targets)) {
        // Those that were attacked, and the neighbour, are closed when nobody has used them for a while.
        await until(() => guestsOf(home).length <= POOL, "the guests of idle containers have ended");
        assert.equal((await service.run(NEIGHBOUR, "6 * 7")).text, "42");
      }
    });
  });

  /** Runs one step while a neighbour runs, and judges the answer. */
  async function submit(service: Service, attack: Attack, step: Step, index: number, row: Row): Promise<void> {
    const isNeighbour = step.place === "another container";
    const container = `${attack.kind}.${attack.name}${isNeighbour ? `.beside${index}` : ""}`;
    const headers = step.contentType ? { "content-type": step.contentType } : {};
    const startMs = performance.now();
    const [answer, beside] = await Promise.all([
      service.run(container, canaries.fill(step.text, service.port), { headers }),
      service.run(NEIGHBOUR, "6 * 7"),
    ]);
    row.ms = Math.max(row.ms, performance.now() - startMs);
    row.outcome = outcomeOf(answer);
    row.expected = step.expected.map((each) => each.text).join(" or ");
    assert.equal(beside.text, "42", "a neighbour answers meanwhile");
    assert.ok(!`${answer.rawHeaders.join()}${answer.text}`.includes(canaries.secret), "the secret was told");
    assertAnswer(answer, step.expected);
  }
}

async function start(rung: string, wall: string): Promise<Target> {
  const home = await makeHome();
  const limits = Object.entries({ ...LIMITS, wall, stream: wall }).flatMap(([name, value]) => [
    `--${name}-limit`,
    value,
  ]);
  const service = await startService(["--isolation", rung, "--pool", String(POOL), ...limits], home);
  return { home, service, programs: digestOf(home.tmp) };
}

async function answersAgain(service: Service, attack: Attack): Promise<void> {
  let text = "";
  const again = async (): Promise<boolean> => {
    ({ text } = await service.run(`${attack.kind}.${attack.name}`, "6 * 7"));
    return text === "42";
  };
  if (attack.strikesLater) await until(again, "the attacked container answers");
  else assert.ok(await again(), `the attacked container answers the next run with ${text}: ${logOf(service, text)}`);
  assert.equal((await service.run(NEIGHBOUR, "6 * 7")).text, "42", "a neighbour answers afterwards");
}

/** What the service has logged about the run that a problem document names. */
function logOf(service: Service, text: string): string {
  const run = /"run":"([^"]+)"/.exec(text)?.[1] ?? "no run";
  const lines = service.stderr().split("\n");
  return lines.filter((line) => line.includes(run)).join("\n");
}

/** Of the programs that all guests are made from. */
function digestOf(folder: string): string {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8", withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
  const digest = createHash("sha256");
  for (const file of files.toSorted()) digest.update(`${file}\0`).update(readFileSync(file));
  return digest.digest("hex");
}

/** The first processes of the sandboxes that were made from a home: those that have its files mounted, or it as their root. */
function guestsOf(home: Home): string[] {
  const ids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return ids.filter((id) => {
    try {
      const isWalled = readlinkSync(`/proc/${id}/ns/pid`) !== readlinkSync("/proc/self/ns/pid");
      const text = readFileSync(`/proc/${id}/mountinfo`, "utf8") + readlinkSync(`/proc/${id}/root`);
      return isWalled && text.includes(path.basename(path.dirname(home.tmp)));
    } catch {
      return false;
    }
  });
}
