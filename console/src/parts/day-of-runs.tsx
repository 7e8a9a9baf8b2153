import type { Usage } from "@caisson/client";
import type { ComponentChildren } from "preact";
import { lazy, Suspense } from "preact/compat";

import { count, duration } from "../format.ts";
import { useLoad } from "../load.ts";
import { linkTo } from "../route.ts";
import { can, client } from "../session.ts";
import { type Entry, hoursAgo, quantile, seriesOf, sumOf } from "../usage-sums.ts";
import { Content } from "./content.tsx";
import { SilentNodes } from "./silent-nodes.tsx";

const Chart = lazy(() => import("./chart.tsx"));
const EVERY_MS = 10_000;

interface DayOfRunsProps {
  /** The container, or null for all that the token sees. */
  readonly container: string | null;
  /** What follows if there are runs. */
  readonly children?: (entries: readonly Entry[]) => ComponentChildren;
}

/** Runs, errors and times of the last 24 hours, as figures and as a chart. */
export function DayOfRuns({ container, children }: DayOfRunsProps) {
  const usage = useLoad(readDay, [container], EVERY_MS);
  return (
    <Content of={usage}>
      {({ from, usage: all, nodes }) => {
        const entries = container === null ? all : all.filter((entry) => entry.container === container);
        const total = sumOf(entries);
        return (
          <>
            <SilentNodes of={nodes} what="counts" />
            <div class="cards">
              <Figure title="Runs" value={count(total.runs)} />
              <Figure title="Errors" value={count(total.failed)} note={share(total.failed, total.runs)} />
              <Figure title="Refused by limits" value={count(total.refused)} />
              <Figure title="Processor time" value={duration(total.cpuMs)} />
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
                {children?.(entries)}
              </>
            )}
          </>
        );
      }}
    </Content>
  );
}

async function readDay(signal: AbortSignal): Promise<Usage & { readonly from: string }> {
  const from = hoursAgo(24);
  return { ...(await client().usage({ by: "container", step: "hour", from }, { signal })), from };
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

function share(part: number, all: number): string {
  return all === 0 ? "" : `${((100 * part) / all).toFixed(1)} %`;
}
