import type { Bench } from "../bench.ts";
import { load, type Load } from "../load/wrk.ts";
import { cpuMs, type Measured } from "../processes.ts";
import type { Figure, Round, Row } from "../row.ts";

/** What a row loads the service with. */
export interface Comparison extends Omit<Load, "seconds" | "token" | "prefix" | "mayFail"> {
  /** Whether the same requests are also timed one after the other, as those of other runtimes are. */
  readonly alsoOne?: boolean;
}

/** A row that loads the service and the plain server with the same requests, one after the other. */
export function compare(
  id: string,
  title: string,
  { aim, budget }: Pick<Figure, "aim" | "budget">,
  requests: Comparison,
): Row {
  const ratio: Figure = { id: "ratio", title: "runs", unit: "of bare", better: "more", aim, budget };
  return { id, title, figures: [ratio], needsWrk: true, measure: (bench) => compareOnce(bench, id, requests) };
}

/** A row that compares the time of one request after the other. */
export function compareLatency(
  id: string,
  title: string,
  { aim, budget }: Pick<Figure, "aim" | "budget">,
  requests: Comparison,
): Row {
  const ratio: Figure = { id: "p50Ratio", title: "p50", unit: "times bare", better: "less", aim, budget };
  return { id, title, figures: [ratio], needsWrk: true, measure: (bench) => compareOnce(bench, id, requests) };
}

async function compareOnce(bench: Bench, id: string, { alsoOne, ...requests }: Comparison): Promise<Round> {
  const [bare, service] = [await bench.bare(), await bench.shared()];
  const { seconds } = bench;
  const options: Load = { ...requests, seconds, token: service.token, prefix: `/api/run/${id}-` };
  for (const { url } of [bare, service]) await bench.warmUp(url, options);
  const [own, plain] = await inTurns(
    bench.round,
    () => measureLoad(service, options),
    () => measureLoad(bare, options),
  );
  const one = alsoOne === true ? await load(service.url, { ...options, connections: 1 }) : null;
  return {
    ratio: own.perSecond / plain.perSecond,
    p50Ratio: own.p50Ms / plain.p50Ms,
    perSecond: own.perSecond,
    barePerSecond: plain.perSecond,
    cpuUs: own.cpuUs,
    bareCpuUs: plain.cpuUs,
    p50Ms: own.p50Ms,
    bareP50Ms: plain.p50Ms,
    p99Ms: own.p99Ms,
    bareP99Ms: plain.p99Ms,
    ...(one && { oneP50Ms: one.p50Ms }),
  };
}

/** Takes two measurements. The other one is the first in each second round, because a machine may be busier for the later one. */
export async function inTurns<One, Other>(
  round: number,
  one: () => Promise<One>,
  other: () => Promise<Other>,
): Promise<[One, Other]> {
  if (round % 2 === 0) return [await one(), await other()];
  const second = await other();
  return [await one(), second];
}

interface LoadFigures {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The processor time of the process for each request, without that of other processes. */
  readonly cpuUs: number;
}

/** Loads a server, and measures the processor time of its process. */
export async function measureLoad({ url, pid }: Pick<Measured, "url" | "pid">, options: Load): Promise<LoadFigures> {
  const beforeMs = await cpuMs(pid);
  const { requestsPerSecond, requests, p50Ms, p99Ms } = await load(url, options);
  return { perSecond: requestsPerSecond, p50Ms, p99Ms, cpuUs: (1_000 * ((await cpuMs(pid)) - beforeMs)) / requests };
}
