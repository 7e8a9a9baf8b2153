import type { Health, System } from "@caisson/client";

import { ago, count, duration } from "../format.ts";
import { useLoad } from "../load.ts";
import { Content } from "../parts/content.tsx";
import { DayOfRuns } from "../parts/day-of-runs.tsx";
import { Gauges } from "../parts/gauges.tsx";
import { linkTo } from "../route.ts";
import { can, client, isAdmin, onlyContainer } from "../session.ts";
import { type Entry, quantile, sumOf } from "../usage-sums.ts";

const EVERY_MS = 10_000;
const SYSTEM_MS = 30_000;
const BUSIEST = 8;
const MOST_WARNINGS = 2;

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
  const state = useLoad((signal) => client().health({ signal }), [], EVERY_MS);
  const system = useLoad((signal) => readSystem(signal), [], SYSTEM_MS);
  return (
    <Content of={state}>
      {(value) => (
        <div class="cards states">
          <section class="card" aria-label="Service">
            <h2>Service</h2>
            <p class="figure">{value.status === "ok" ? "takes runs" : value.status}</p>
            <p class="quiet">caisson {value.version}</p>
            {system.value && <p class="quiet">started {ago(system.value.startedAt)}</p>}
          </section>
          <section class="card" aria-label="Isolation">
            <h2>Isolation</h2>
            <p class="figure">{value.isolation}</p>
            <p class="quiet">
              {value.insteadOf === undefined ? ISOLATION[value.isolation] : `instead of ${value.insteadOf}`}
            </p>
            {system.value && <Missing checks={system.value.checks} />}
          </section>
          <Warnings health={value} all={system.value?.warnings ?? null} />
        </div>
      )}
    </Content>
  );
}

/** Only an administrator may read it. */
async function readSystem(signal: AbortSignal): Promise<System | null> {
  return isAdmin.value ? await client().system({ signal }) : null;
}

const ISOLATION: Readonly<Record<string, string>> = {
  namespaces: "the strongest level",
  none: "for development only",
};

/** The layers that are not held as well as they could be. */
function Missing({ checks }: { readonly checks: System["checks"] }) {
  const missing = checks.filter(({ state, layer }) => state !== "held" && layer !== "sandbox");
  const held = checks.filter(({ state }) => state === "held").length;
  if (missing.length === 0)
    return (
      <p class="quiet">
        {held} of {checks.length} checks hold
      </p>
    );
  return (
    <p>
      weaker than possible: {missing.map(({ layer }) => layer).join(", ")} <a href={linkTo("system")}>Remedies</a>
    </p>
  );
}

interface WarningsProps {
  readonly health: Health;
  /** The warnings of the service, if the token may read them. */
  readonly all: readonly string[] | null;
}

function Warnings({ health: { isolation, records = {}, egressRefused = {} }, all }: WarningsProps) {
  const lost = Object.keys(records);
  const denials = Object.values(egressRefused).reduce((sum, value) => sum + value, 0);
  const warnings = all ?? [
    ...(isolation === "none" ? ["Tasks are not isolated. Run only code that you have written."] : []),
    ...(lost.length > 0 ? [`Records were lost: ${lost.join(", ")}.`] : []),
  ];
  return (
    <section class={`card ${warnings.length > 0 ? "warned" : ""}`} aria-label="Warnings">
      <h2>Warnings</h2>
      <p class="figure">{warnings.length === 0 ? "none" : warnings.length}</p>
      {warnings.slice(0, MOST_WARNINGS).map((text) => (
        <p key={text}>{text}</p>
      ))}
      {warnings.length > MOST_WARNINGS && <a href={linkTo("system")}>{warnings.length - MOST_WARNINGS} more</a>}
      {denials > 0 && <p class="quiet">{count(denials)} connections of tasks were refused</p>}
    </section>
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
  return (
    <>
      <h2>The last 24 hours</h2>
      <DayOfRuns container={onlyContainer.value}>
        {(entries) =>
          onlyContainer.value === null && (
            <>
              <h2>Busiest containers</h2>
              <Busiest entries={entries} />
            </>
          )
        }
      </DayOfRuns>
    </>
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
              <td class="name" title={container}>
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
