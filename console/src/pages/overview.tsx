import { lazy, Suspense } from "preact/compat";

import { count, duration } from "../format.ts";
import { health } from "../health.ts";
import { useLoad } from "../load.ts";
import { Content } from "../parts/content.tsx";
import { Gauges } from "../parts/gauges.tsx";
import { linkTo } from "../route.ts";
import { can, client, onlyContainer } from "../session.ts";
import { type Entry, hoursAgo, seriesOf, sumOf } from "../usage-sums.ts";

const Chart = lazy(() => import("../parts/chart.tsx"));
const EVERY_MS = 10_000;
const BUSIEST = 8;

/** The state of the service, and what happened in the last 24 hours. A customer sees the state of the one container. */
export default function Overview() {
  const only = onlyContainer.value;
  return (
    <>
      <div class="head">
        <h1>Overview</h1>
      </div>
      {only === null ? <ServiceState /> : <OwnLimits container={only} />}
      {can("logs") && <LastDay />}
    </>
  );
}

function ServiceState() {
  const state = useLoad((signal) => health(signal), [], EVERY_MS);
  return (
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
            <p class="quiet">
              {value.insteadOf === undefined ? ISOLATION[value.isolation] : `instead of ${value.insteadOf}`}
            </p>
          </div>
          <Warnings isOpen={value.isolation === "none"} records={value.records} refused={value.egressRefused} />
        </div>
      )}
    </Content>
  );
}

const ISOLATION: Readonly<Record<string, string>> = {
  namespaces: "the strongest level",
  none: "for development only",
};

interface WarningsProps {
  /** Whether tasks are not isolated. */
  readonly isOpen: boolean;
  readonly records?: Readonly<Record<string, object>> | undefined;
  readonly refused?: Readonly<Record<string, number>> | undefined;
}

function Warnings({ isOpen, records = {}, refused = {} }: WarningsProps) {
  const lost = Object.keys(records);
  const denials = Object.values(refused).reduce((sum, value) => sum + value, 0);
  const warnings = [
    ...(isOpen ? ["Tasks can read this machine and attack each other. Run only code that you have written."] : []),
    ...(lost.length > 0 ? [`Records were lost: ${lost.join(", ")}.`] : []),
  ];
  return (
    <div class={`card ${warnings.length > 0 ? "warned" : ""}`}>
      <h2>Warnings</h2>
      <p class="figure">{warnings.length === 0 ? "none" : warnings.length}</p>
      {warnings.map((text) => (
        <p key={text}>{text}</p>
      ))}
      {denials > 0 && <p class="quiet">{count(denials)} connections of tasks were refused</p>}
    </div>
  );
}

function OwnLimits({ container }: { readonly container: string }) {
  const state = useLoad(
    (signal) => client().limits.getContainer(container, { detail: true, signal }),
    [container],
    EVERY_MS,
  );
  if (!can("limits")) return null;
  return (
    <section class="card" aria-label="Limits">
      <h2>Limits of {container}</h2>
      <Content of={state}>{(value) => <Gauges state={value} />}</Content>
    </section>
  );
}

function LastDay() {
  const from = hoursAgo(24);
  const usage = useLoad((signal) => client().usage({ by: "container", step: "hour", from }, { signal }), [], EVERY_MS);
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
            {entries.length === 0 ? (
              <p class="empty">No runs yet. {can("run") && <a href={linkTo("playground")}>Make the first one.</a>}</p>
            ) : (
              <>
                <Suspense fallback={<div class="chart" />}>
                  <Chart label="Runs and errors of the last 24 hours" {...seriesOf(entries, from, "hour")} />
                </Suspense>
                {onlyContainer.value === null && (
                  <>
                    <h2>Busiest containers</h2>
                    <Busiest entries={entries} />
                  </>
                )}
              </>
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

function Busiest({ entries }: { readonly entries: readonly Entry[] }) {
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
