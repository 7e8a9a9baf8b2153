import type { Usage } from "@caisson/client";

import { count, duration } from "../format.ts";
import { health } from "../health.ts";
import { useLoad } from "../load.ts";
import { Content } from "../parts/content.tsx";
import { linkTo } from "../route.ts";
import { can, client } from "../session.ts";

const EVERY_MS = 10_000;
const BUSIEST = 8;

/** The state of the service, and what happened in the last 24 hours. */
export default function Overview() {
  const state = useLoad((signal) => health(signal), [], EVERY_MS);
  return (
    <>
      <div class="head">
        <h1>Overview</h1>
      </div>
      <Content of={state}>
        {(value) => (
          <div class="cards">
            <div class="card">
              <h2>Service</h2>
              <p class="figure">{value.status === "ok" ? "takes runs" : value.status}</p>
              <p class="quiet">caisson {value.version}</p>
            </div>
            <div class="card">
              <h2>Isolation</h2>
              <p class="figure">{value.isolation}</p>
              <p class="quiet">{value.insteadOf ?? "the strongest level of this machine"}</p>
            </div>
            <Warnings records={value.records} refused={value.egressRefused} />
          </div>
        )}
      </Content>
      {can("logs") && <LastDay />}
    </>
  );
}

function Warnings({
  records = {},
  refused = {},
}: {
  readonly records?: Readonly<Record<string, object>> | undefined;
  readonly refused?: Readonly<Record<string, number>> | undefined;
}) {
  const lost = Object.keys(records);
  const denials = Object.values(refused).reduce((sum, value) => sum + value, 0);
  return (
    <div class="card">
      <h2>Warnings</h2>
      <p class="figure">{lost.length === 0 ? "none" : lost.length}</p>
      {lost.length > 0 && <p class="quiet">Records were lost: {lost.join(", ")}</p>}
      {denials > 0 && <p class="quiet">{count(denials)} connections of tasks were refused</p>}
    </div>
  );
}

function LastDay() {
  const usage = useLoad((signal) => client().usage({ by: "container", step: "day" }, { signal }), [], EVERY_MS);
  return (
    <Content of={usage}>
      {({ usage: entries }) => {
        const total = sumOf(entries);
        return (
          <>
            <h2>The last 24 hours</h2>
            <div class="cards">
              <Figure title="Runs" value={count(total.runs)} />
              <Figure title="Errors" value={count(total.failed)} note={share(total.failed, total.runs)} />
              <Figure title="Refused by limits" value={count(total.refused)} />
              <Figure title="p50 of a run" value={quantile(total.durations, 0.5)} />
              <Figure title="p99 of a run" value={quantile(total.durations, 0.99)} />
            </div>
            <h2>Busiest containers</h2>
            {entries.length === 0 ? (
              <p class="empty">No runs yet. The playground makes the first one.</p>
            ) : (
              <Busiest entries={entries} />
            )}
          </>
        );
      }}
    </Content>
  );
}

function Figure({ title, value, note }: { readonly title: string; readonly value: string; readonly note?: string }) {
  return (
    <div class="card">
      <h3 class="quiet">{title}</h3>
      <p class="figure">{value}</p>
      {note !== undefined && <p class="quiet">{note}</p>}
    </div>
  );
}

function Busiest({ entries }: { readonly entries: Usage["usage"] }) {
  const byContainer = Map.groupBy(entries, ({ container }) => container);
  const rows = [...byContainer].map(([container, own]) => ({ container, ...sumOf(own) }));
  const busiest = rows.toSorted((a, b) => b.runs - a.runs).slice(0, BUSIEST);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Busiest containers">
      <table>
        <thead>
          <tr>
            <th scope="col">Container</th>
            <th scope="col" class="number">
              Runs
            </th>
            <th scope="col" class="number">
              Errors
            </th>
            <th scope="col" class="number">
              Processor time
            </th>
            <th scope="col" class="number">
              p99
            </th>
          </tr>
        </thead>
        <tbody>
          {busiest.map(({ container, runs, failed, cpuMs, durations }) => (
            <tr key={container}>
              <td>
                <a href={linkTo("containers", [container])}>{container}</a>
              </td>
              <td class="number">{count(runs)}</td>
              <td class="number">{count(failed)}</td>
              <td class="number">{duration(cpuMs)}</td>
              <td class="number">{quantile(durations, 0.99)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface Sum {
  readonly runs: number;
  readonly failed: number;
  readonly refused: number;
  readonly cpuMs: number;
  readonly durations: ReadonlyMap<string, number>;
}

function sumOf(entries: Usage["usage"]): Sum {
  const durations = new Map<string, number>();
  let [runs, failed, refused, cpuMs] = [0, 0, 0, 0];
  for (const entry of entries) {
    for (const [status, value] of Object.entries(entry.runs)) {
      runs += value;
      if (!["ok", "running", "cancelled", "interrupted"].includes(status)) failed += value;
    }
    for (const value of Object.values(entry.refused)) refused += value;
    for (const [bound, value] of Object.entries(entry.durations))
      durations.set(bound, (durations.get(bound) ?? 0) + value);
    cpuMs += entry.cpuMs;
  }
  return { runs, failed, refused, cpuMs, durations };
}

function share(part: number, all: number): string {
  return all === 0 ? "" : `${((100 * part) / all).toFixed(1)} %`;
}

/** Returns the bound of the histogram below which this part of the runs ended. */
function quantile(durations: ReadonlyMap<string, number>, part: number): string {
  const bounds = [...durations].map(([bound, value]) => [bound === "more" ? Infinity : Number(bound), value] as const);
  const ordered = bounds.toSorted(([a], [b]) => a - b);
  const all = ordered.reduce((sum, [, value]) => sum + value, 0);
  let seen = 0;
  for (const [bound, value] of ordered) {
    seen += value;
    if (seen >= part * all) return bound === Infinity ? "over 5 min" : `≤ ${duration(bound)}`;
  }
  return "none";
}
