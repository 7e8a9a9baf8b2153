import { median, type Times } from "../figures.ts";
import type { Sample } from "./sampler.ts";
import type { Tally } from "./tally.ts";

/** The budgets of section 6 of the contract, and further budgets that support it. */
const BUDGETS = { neighbourRatio: 3, neighbourFloorMs: 20, lateMs: 250, nextMs: 50 };
/** The maximum growth of figures that vary with the load. A larger growth is a leak. */
const SLACK: Omit<Sample, "rssMiB"> = { descriptors: 24, processes: 40, guests: 20, groups: 20, files: 1 };
/** The maximum growth of live objects in the service's heap. */
const LIVE_SLACK_MIB = 8;
/** The maximum growth of RSS. The heap may grow to four times its live size before a collection; a leak grows without end. */
const RSS_SLACK_MIB = 96;
/** The maximum difference between the quiet before and the quiet after. */
const REST_SLACK: Partial<Sample> = { descriptors: 4, processes: 0, guests: 0, groups: 0, files: 0 };

/** The minimum length of a soak whose growth is judged. A shorter soak measures the warm-up of the service. */
const JUDGED_FROM_MINUTES = 5;

/** The maximum part of the attacks of a class that a deadline ends although they should end otherwise. */
const MOST_OVERDUE = 1 / 2;
const JUDGED_FROM_ATTACKS = 20;

export interface Soak {
  readonly minutes: number;
  /** The deadline of every run. */
  readonly wallMs: number;
  readonly tally: Tally;
  /** The samples that were taken under attack, in order. */
  readonly samples: readonly Sample[];
  /** A sample before the first run. */
  readonly before: Sample;
  /** A sample when all unused containers are closed. */
  readonly after: Sample;
  /** The size of live objects after a quarter of the attacks' time, and at their end, in MiB. */
  readonly live: readonly [early: number, late: number];
  /** The part of the machine that its host took, from 0 to 1. */
  readonly hostShares: readonly [quiet: number, attacked: number];
}

/** Prints the figures. @returns wrong answers, escapes and leaks. A missed budget is only printed. */
export function report(soak: Soak): string[] {
  const { tally } = soak;
  console.log(`\nruns: ${tally.right} with the expected answer, ${tally.wrong} wrong, ${tally.turnedAway} turned away`);
  console.log(`  good: ${tally.good.inWords()}`);
  console.log(`  bad: ${tally.bad.inWords()}`);
  console.log(`escapes: ${tally.escapes.size}`);
  const [quiet, attacked] = soak.hostShares.map((share) => `${(share * 100).toFixed(1)} %`);
  console.log(`the host took ${quiet} of the machine in the quiet, and ${attacked} under attack`);
  reportClasses(tally);
  reportNeighbour(tally);
  budget("next run of a container that lost its guest", tally.next, BUDGETS.nextMs);
  return [...tally.faults, ...tally.escapes, ...reportOverdue(soak), ...reportGrowth(soak)];
}

/** Each run of an attack has a deadline. An attack should take effect before it, except on a very busy machine. */
function reportOverdue({ tally: { classes }, wallMs }: Soak): string[] {
  const faults: string[] = [];
  const late: string[] = [];
  const overdue: string[] = [];
  let all = 0;
  for (const [kind, { took, overdue: ended }] of classes) {
    all += took.count;
    const beyond = took.countOver(wallMs + BUDGETS.lateMs);
    if (beyond > 0) late.push(`${kind} ${beyond}`);
    if (ended > 0) overdue.push(`${kind} ${ended}`);
    if (took.count >= JUDGED_FROM_ATTACKS && ended > took.count * MOST_OVERDUE) {
      faults.push(
        `${ended} of ${took.count} attacks of the class ${kind} were ended by a deadline, and not by their own limit`,
      );
    }
  }
  const most = `${wallMs} ms, the deadline of every run, and ${BUDGETS.lateMs} ms`;
  console.log(
    `\nattacks of all classes whose answer came later than ${most} after they were sent, of ${all} (a stream has this time from its head on): ${listed(late)}`,
  );
  console.log(`attacks that a deadline ended before they took effect: ${listed(overdue)}`);
  return faults;
}

function listed(counts: readonly string[]): string {
  return counts.length === 0 ? "none" : counts.join(", ");
}

function reportClasses({ classes }: Tally): void {
  const sorted = [...classes].toSorted(([one], [other]) => one.localeCompare(other));
  console.log("\nattacks, from submission to answer:");
  for (const [kind, { outcomes, took }] of sorted) console.log(`  ${kind}: ${took.inWords()}; ${outcomes.inWords()}`);
  console.log("\nattacks that only a deadline ends, from the deadline to the answer:");
  for (const [kind, { late }] of sorted) {
    if (late.count > 0) budget(`  ${kind}`, late, BUDGETS.lateMs);
  }
}

function reportNeighbour({ quiet, attacked }: Tally): void {
  const [quietMs, attackedMs] = [quiet.percentile(0.95), attacked.percentile(0.95)];
  const mostMs = Math.max(BUDGETS.neighbourFloorMs, BUDGETS.neighbourRatio * quietMs);
  console.log(`\nthe neighbour in the quiet: ${quiet.inWords()}`);
  console.log(`the neighbour under attack: ${attacked.inWords()}`);
  const ratio = `${(attackedMs / quietMs).toFixed(1)} times its quiet p95`;
  console.log(`  ${ratio}, budget ${mostMs.toFixed(0)} ms: ${verdict(attackedMs <= mostMs)}`);
}

function budget(what: string, times: Times, mostMs: number): void {
  console.log(
    `${what}: ${times.inWords()}; budget ${mostMs} ms at p95: ${verdict(!(times.percentile(0.95) > mostMs))}`,
  );
}

function verdict(isMet: boolean): string {
  return isMet ? "met" : "MISSED";
}

function reportGrowth({ minutes, samples, before, after, live }: Soak): string[] {
  const quarter = Math.max(1, Math.floor(samples.length / 4));
  const [first, last] = [samples.slice(0, quarter), samples.slice(-quarter)];
  const faults: string[] = [];
  const isJudged = minutes >= JUDGED_FROM_MINUTES;
  const judged = isJudged ? "" : ` (not judged in less than ${JUDGED_FROM_MINUTES} minutes)`;
  console.log(`\nmedians under attack, first and last quarter${judged}; at rest, before and after:`);
  const [early, late] = live;
  const isLevel = !isJudged || late - early <= LIVE_SLACK_MIB;
  console.log(`  alive in the heap, MiB: ${early.toFixed(1)} and ${late.toFixed(1)}: ${isLevel ? "flat" : "GROWS"}`);
  if (!isLevel) faults.push(`live objects in the heap grew under attack from ${early} to ${late} MiB`);
  const rss = [first, last].map((part) => median(part.map(({ rssMiB }) => rssMiB)));
  const [rssFirst, rssLast] = rss as [number, number];
  const isBounded = !isJudged || rssLast - rssFirst <= RSS_SLACK_MIB;
  console.log(
    `  RSS, MiB: ${rssFirst.toFixed(0)} and ${rssLast.toFixed(0)}; ${before.rssMiB.toFixed(0)} and ${after.rssMiB.toFixed(0)}: ${isBounded ? "bounded" : "GROWS"}`,
  );
  if (!isBounded) faults.push(`RSS grew under attack from ${rssFirst} to ${rssLast} MiB`);
  for (const key of Object.keys(SLACK) as (keyof typeof SLACK)[]) {
    const [one, other] = [first, last].map((part) => median(part.map((sample) => sample[key])));
    const isFlat = !isJudged || !(other! - one! > SLACK[key]);
    const isBack = !(after[key] - before[key] > (REST_SLACK[key] ?? Infinity));
    const rest = `${before[key].toFixed(0)} and ${after[key].toFixed(0)}`;
    console.log(
      `  ${key}: ${one!.toFixed(0)} and ${other!.toFixed(0)}; ${rest}: ${isFlat && isBack ? "flat" : "GROWS"}`,
    );
    if (!isFlat) faults.push(`${key} grew under attack from ${one} to ${other}`);
    if (!isBack) faults.push(`${key} did not go back from ${after[key]} to ${before[key]}`);
  }
  return faults;
}
