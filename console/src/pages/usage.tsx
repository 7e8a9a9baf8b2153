import type { Caisson } from "@caisson/client";
import { lazy, Suspense } from "preact/compat";

import { useAct } from "../act.ts";
import { bytes, count, counted, duration } from "../format.ts";
import { useLoad } from "../load.ts";
import { ActNote } from "../parts/act-note.tsx";
import { Content } from "../parts/content.tsx";
import { Choice } from "../parts/field.tsx";
import { Filter } from "../parts/filter.tsx";
import { SilentNodes } from "../parts/silent-nodes.tsx";
import { type Column, VirtualTable } from "../parts/virtual-table.tsx";
import { route, setQuery } from "../route.ts";
import { client, onlyContainer } from "../session.ts";
import { type Entry, hoursAgo, seriesOf, type Sum, sumOf } from "../usage-sums.ts";

const Chart = lazy(() => import("../parts/chart.tsx"));
const RANGES: Readonly<
  Record<string, { readonly title: string; readonly hours: number; readonly step: "hour" | "day" }>
> = {
  day: { title: "24 hours", hours: 24, step: "hour" },
  week: { title: "7 days", hours: 168, step: "hour" },
  month: { title: "31 days", hours: 744, step: "day" },
  year: { title: "12 months", hours: 8_760, step: "day" },
};

type By = "container" | "task" | "token";
type UsageQuery = NonNullable<Parameters<Caisson["usageCsv"]>[0]>;

interface Row extends Sum {
  readonly name: string;
}

/** Runs, processor time and network bytes over time. */
export default function Usage() {
  const { query } = route.value;
  const act = useAct();
  const by = (query.get("by") ?? "container") as By;
  const range = RANGES[query.get("range") ?? "day"] ?? RANGES["day"]!;
  const container = onlyContainer.value ?? query.get("container") ?? "";
  const from = hoursAgo(range.hours);
  const request = { by, step: range.step, from } as const;
  const usage = useLoad((signal) => client().usage(request, { signal }), [by, range.title], 30_000);
  return (
    <>
      <div class="head">
        <h1>Usage</h1>
        <div class="actions">
          <button type="button" onClick={() => void act.run(() => saveCsv(request, container))} disabled={act.isBusy}>
            CSV
          </button>
        </div>
      </div>
      <ActNote of={act} />
      <div class="filters">
        <Choice
          label="By"
          value={by}
          choices={{ container: "container", task: "task", token: "token" }}
          onChange={(value) => setQuery({ by: value })}
        />
        <Choice
          label="Time"
          value={query.get("range") ?? "day"}
          choices={Object.fromEntries(Object.entries(RANGES).map(([key, { title }]) => [key, title]))}
          onChange={(value) => setQuery({ range: value })}
        />
        {onlyContainer.value === null && (
          <Filter label="Container" value={container} onChange={(value) => setQuery({ container: value })} />
        )}
      </div>
      <Content of={usage}>
        {({ usage: all, truncated, nodes }) => {
          const entries = all.filter((entry) => isOf(entry.container, container));
          const rows = rowsOf(entries, by);
          return entries.length === 0 ? (
            <>
              <SilentNodes of={nodes} what="counts" />
              <p class="empty">No run in this time.</p>
            </>
          ) : (
            <>
              <SilentNodes of={nodes} what="counts" />
              <Suspense fallback={<div class="chart" />}>
                <Chart label="Runs and errors over time" {...seriesOf(entries, from, range.step)} />
              </Suspense>
              {truncated && (
                <p class="notice">The smallest names are added up as (other). Choose a shorter time for more names.</p>
              )}
              <VirtualTable label="Usage" columns={COLUMNS} rows={rows} keyOf={({ name }) => name} />
            </>
          );
        }}
      </Content>
    </>
  );
}

function rowsOf(entries: readonly Entry[], by: By): Row[] {
  const groups = Map.groupBy(entries, (entry) => nameOf(entry, by));
  return [...groups].map(([name, own]) => ({ name, ...sumOf(own) })).toSorted((a, b) => b.runs - a.runs);
}

function nameOf({ container, task, token }: Entry, by: By): string {
  if (by === "container") return container;
  if (by === "task") return task == null ? `${container}, code of requests` : `${container} / ${task}`;
  return `${container}, ${token ?? "without a token"}`;
}

/** Whether a container is the one that the filter names, or one of its pattern such as `acme-*`; an empty filter has all. */
function isOf(container: string, filter: string): boolean {
  if (filter.endsWith("*")) return container.startsWith(filter.slice(0, -1));
  return filter === "" || container === filter;
}

/** Saves the counts as a file. @returns what was saved, and what it lacks */
async function saveCsv(query: UsageQuery, container: string): Promise<string> {
  const { csv, truncated, nodes } = await client().usageCsv(query);
  const [head, ...lines] = csv.split("\r\n");
  // The container is the second cell, and its name needs no quotes.
  const own = lines.filter((line) => isOf(line.split(",")[1] ?? "", container));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([[head, ...own].join("\r\n")], { type: "text/csv" }));
  link.download = "usage.csv";
  link.click();
  // Some browsers read the text after this turn.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  const silent = nodes.asked - nodes.answered;
  return [
    "Saved as usage.csv.",
    ...(truncated ? ["The smallest names are added up as (other)."] : []),
    ...(silent > 0 ? [`It lacks the counts of ${counted(silent, "node")} that did not answer.`] : []),
  ].join(" ");
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "Name", cell: ({ name }) => name },
  { title: "Runs", isNumber: true, cell: ({ runs }) => count(runs) },
  { title: "Errors", isNumber: true, cell: ({ failed }) => count(failed) },
  { title: "Refused", isNumber: true, cell: ({ refused }) => count(refused) },
  { title: "Processor time", isNumber: true, cell: ({ cpuMs }) => duration(cpuMs) },
  { title: "Network", isNumber: true, cell: ({ egressBytes }) => bytes(egressBytes) },
];
