/**
 * Measures the service against a bare `node:http` server in the same minutes. Machines are shared and noisy, so a figure
 * is a ratio, the median of several rounds.
 *
 *   npm run bench [-- <rounds> <seconds>]
 */
import { request } from "node:http";
import { setTimeout } from "node:timers/promises";

import { median } from "./figures.ts";
import { load, type Load } from "./load.ts";
import { cpuMs, type Measured, type MeasuredService, startBare, startService } from "./processes.ts";

const [rounds = 5, seconds = 3] = process.argv.slice(2).map(Number);
const NEW_CONTAINERS = 40;
/** The time until the pool is full again. */
const REFILL_MS = 200;

await using bare = await startBare();
await using service = await startService("--idle-limit", "5s", "--token-new-containers", "100000");
const firstMs = service.startMs + (await timeRun(service, "first")).ms;

const { token } = service;
await compare("warm run, 32 connections", 0.5, { connections: 32, seconds, token });
await compare("new code each time, 32 connections", 0.4, { connections: 32, seconds, token, newCode: true });
await compare("8 containers at once, 32 connections", 0.5, { connections: 32, seconds, token, containers: 8 });
await compareLatency();
await timeNewContainers();
await compareFresh();
console.log(`start to the first answered run: ${firstMs.toFixed(0)} ms (budget 2000)`);

async function compare(what: string, budget: number, options: Load): Promise<void> {
  await load(`${service.url}/`, { ...options, seconds: 1 });
  const ratios: number[] = [];
  const raw: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const plain = await loadMeasured(bare, options);
    const own = await loadMeasured(service, options);
    ratios.push(own.perSecond / plain.perSecond);
    raw.push(`${describe(own)} against ${describe(plain)}`);
  }
  console.log(`${what}: ${median(ratios).toFixed(2)} of bare node:http (budget ${budget})`);
  for (const line of raw) console.log(`  ${line}`);
}

async function loadMeasured(target: Measured, options: Load): Promise<{ perSecond: number; cpuUs: number }> {
  const before = await cpuMs(target.pid);
  const { requestsPerSecond, requests } = await load(`${target.url}/`, options);
  return { perSecond: requestsPerSecond, cpuUs: (1_000 * ((await cpuMs(target.pid)) - before)) / requests };
}

function describe({ perSecond, cpuUs }: { perSecond: number; cpuUs: number }): string {
  return `${perSecond.toFixed(0)}/s (${cpuUs.toFixed(1)} µs of its process)`;
}

async function compareLatency(): Promise<void> {
  const options = { connections: 1, seconds, token };
  const ratios: number[] = [];
  let last = "";
  for (let round = 0; round < rounds; round++) {
    const plain = await load(`${bare.url}/`, options);
    const own = await load(`${service.url}/`, options);
    ratios.push(own.p50Ms / plain.p50Ms);
    last = `${own.p50Ms} ms against ${plain.p50Ms} ms`;
  }
  console.log(`one connection, p50: ${median(ratios).toFixed(2)} of bare node:http (budget 2.5; last round ${last})`);
}

async function timeNewContainers(): Promise<void> {
  const times: number[] = [];
  for (let index = 0; index < NEW_CONTAINERS; index++) {
    await setTimeout(REFILL_MS);
    const { ms, start } = await timeRun(service, `new-${index}`);
    if (start === "new") times.push(ms);
  }
  const raw = times.map((ms) => ms.toFixed(1)).join(" ");
  console.log(
    `never-seen container from the pool, p50 of ${times.length}: ${median(times).toFixed(1)} ms (budget 5)\n  ${raw}`,
  );
}

/** Measures the cost of an unused guest for every run: with the pool at rest, and under a load above the rate of starts. */
async function compareFresh(): Promise<void> {
  const claims = JSON.stringify({ containers: ["*"], fresh: true });
  const answer = await fetch(`${service.url}/api/tokens`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: claims,
  });
  const { token: fresh } = (await answer.json()) as { token: string };
  const times = { warm: [] as number[], fresh: [] as number[] };
  for (let index = 0; index < NEW_CONTAINERS; index++) {
    await setTimeout(REFILL_MS);
    times.warm.push((await timeRun(service, "bench0")).ms);
    const timed = await timeRun({ url: service.url, token: fresh }, "bench0");
    if (timed.start === "new") times.fresh.push(timed.ms);
  }
  const [warmMs, freshMs] = [median(times.warm), median(times.fresh)];
  console.log(
    `fresh run from the pool, p50 of ${times.fresh.length}: ${(freshMs / warmMs).toFixed(1)} times a warm run ` +
      `(${freshMs.toFixed(1)} ms against ${warmMs.toFixed(1)} ms)`,
  );
  const ratios: number[] = [];
  const raw: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const warm = await load(`${service.url}/`, { connections: 8, seconds, token });
    const unused = await load(`${service.url}/`, { connections: 8, seconds, token: fresh });
    ratios.push(warm.requestsPerSecond / unused.requestsPerSecond);
    raw.push(`  ${unused.requestsPerSecond.toFixed(1)}/s against ${warm.requestsPerSecond.toFixed(0)}/s`);
  }
  console.log(`fresh runs, 8 connections without a pause: one for every ${median(ratios).toFixed(0)} warm runs`);
  for (const line of raw) console.log(line);
}

function timeRun(
  target: Pick<MeasuredService, "url" | "token">,
  container: string,
): Promise<{ ms: number; start: string }> {
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${target.token}` };
    request(`${target.url}/api/run/${container}`, { method: "POST", headers }, (response) => {
      const start = /desc="(\w+)"/.exec(String(response.headers["server-timing"]))?.[1] ?? "";
      response.resume().on("end", () => {
        if (response.statusCode === 200) resolve({ ms: performance.now() - startedMs, start });
        else reject(new Error(`a run received ${response.statusCode}`));
      });
    })
      .on("error", reject)
      .end("6 * 7");
  });
}
