import type { RunRecord } from "@caisson/client";
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { useAct } from "../act.ts";
import { bytes, counted, moment } from "../format.ts";
import { useList } from "../load-list.ts";
import { useLoad } from "../load.ts";
import { ActNote } from "../parts/act-note.tsx";
import { confirm } from "../parts/confirm.tsx";
import { Content } from "../parts/content.tsx";
import { ErrorNote } from "../parts/error-note.tsx";
import { Choice } from "../parts/field.tsx";
import { Filter } from "../parts/filter.tsx";
import { Outcome } from "../parts/outcome.tsx";
import { type ListedRun, RunTable } from "../parts/run-table.tsx";
import { RunTail } from "../parts/run-tail.tsx";
import { SilentNodes } from "../parts/silent-nodes.tsx";
import { linkTo, route, setQuery } from "../route.ts";
import { can, client, onlyContainer } from "../session.ts";

/** How often a run that has not ended is read again. */
const RUNNING_MS = 1_500;
const STATUSES = [
  ...["ok", "threw", "syntax", "timeout", "blocked", "memory", "exited", "stalled", "called_back", "unserializable"],
  ...["too_large", "refused", "failed", "cancelled", "interrupted", "running"],
];

/** Runs, with filters and a live tail, or one run. */
export default function Runs() {
  const { names, query } = route.value;
  const revision = useSignal(0);
  const [container, run] = names;
  if (container !== undefined && run !== undefined) return <OneRun container={container} run={run} />;
  const filters = {
    container: onlyContainer.value ?? query.get("container") ?? "",
    task: query.get("task") ?? "",
    status: query.get("status") ?? "",
    since: query.get("since") ?? "",
    until: query.get("until") ?? "",
    q: query.get("q") ?? "",
  };
  const isLive = query.get("live") === "1";
  return (
    <>
      <div class="head">
        <h1>Runs</h1>
        <div class="actions">
          {!isLive && (
            <button type="button" onClick={() => revision.value++}>
              Reload
            </button>
          )}
          <button type="button" aria-pressed={isLive} onClick={() => setQuery({ live: isLive ? "" : "1" })}>
            Live tail
          </button>
        </div>
      </div>
      <div class="filters">
        {onlyContainer.value === null && (
          <Filter label="Container" value={filters.container} onChange={(value) => setQuery({ container: value })} />
        )}
        <Filter label="Task" value={filters.task} onChange={(value) => setQuery({ task: value })} />
        <Choice
          label="Status"
          value={filters.status}
          choices={{ "": "any", ...Object.fromEntries(STATUSES.map((each) => [each, each])) }}
          onChange={(value) => setQuery({ status: value })}
        />
        {!isLive && (
          <Choice
            label="Since"
            value={filters.since}
            choices={{ "": "the beginning", "15m": "15 minutes", "1h": "an hour", "24h": "a day", "7d": "a week" }}
            onChange={(value) => setQuery({ since: value })}
          />
        )}
        <Filter label="Text in error, console" value={filters.q} onChange={(value) => setQuery({ q: value })} />
      </div>
      {isLive ? <RunTail filters={filters} /> : <History filters={filters} revision={revision.value} />}
    </>
  );
}

interface HistoryProps {
  readonly filters: Readonly<Record<string, string>>;
  /** Changes when the reader wants to see the newest runs. */
  readonly revision: number;
}

function History({ filters, revision }: HistoryProps) {
  const query = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== ""));
  const list = useList(
    (cursor, signal) =>
      client()
        .runs.list({ ...query, limit: 200, cursor }, { signal })
        .page(),
    ({ runs }) => runs as readonly ListedRun[],
    [JSON.stringify(query), revision],
  );
  return (
    <>
      {list.error !== null && <ErrorNote error={list.error} onRetry={list.reload} />}
      <SilentNodes of={list.page?.nodes} what="runs" />
      {list.entries.length > 0 && <RunTable rows={list.entries} onEnd={list.more} />}
      {list.entries.length === 0 && !list.isLoading && list.error === null && (
        <p class="empty">No run matches. Silent successes are kept once per container and second.</p>
      )}
      <p class="quiet" role="status">
        {list.isLoading
          ? "Loading..."
          : `${counted(list.entries.length, "run")}${list.next === null ? "" : ", more when you scroll"}`}
      </p>
    </>
  );
}

function OneRun({ container, run }: { readonly container: string; readonly run: string }) {
  /** The record of a run that has ended does not change. */
  const ended = useRef<RunRecord | null>(null);
  const loaded = useLoad(
    async (signal) => {
      if (ended.current?.run === run) return ended.current;
      const record = await client().runs.get(container, run, { signal });
      if (record.status !== "running") ended.current = record;
      return record;
    },
    [container, run],
    RUNNING_MS,
  );
  const act = useAct();
  const cancel = (): void => {
    void act.run(async () => {
      if (!(await confirm("Cancel this run?", "Its caller receives an error, and its work stops.", "Cancel the run")))
        return null;
      await client().runs.cancel(container, run);
      loaded.reload();
      return "The run was cancelled.";
    });
  };
  return (
    <>
      <div class="head">
        <h1>
          Run <span class="mono">{run}</span>
        </h1>
        <div class="actions">
          {loaded.value?.status === "running" && (
            <button type="button" class="danger" onClick={cancel}>
              Cancel
            </button>
          )}
        </div>
      </div>
      <ActNote of={act} />
      <Content of={loaded}>
        {(record) => (
          <div class="columns">
            <Outcome record={record} />
            <section class="card" aria-label="Facts">
              <dl class="facts">
                <dt>Container</dt>
                <dd>
                  <a href={linkTo("containers", [container])}>{container}</a>
                </dd>
                <dt>Task</dt>
                <dd>
                  {record.task === null ? (
                    "code of the request"
                  ) : can("tasks") ? (
                    <>
                      <a href={linkTo("tasks", [container, record.task])}>{record.task}</a>, version {record.version}
                    </>
                  ) : (
                    `${record.task}, version ${record.version}`
                  )}
                </dd>
                <dt>Started</dt>
                <dd>{moment(record.startedAt)} UTC</dd>
                <dt>Token</dt>
                <dd class="mono">
                  {record.token !== null && can("issue") ? (
                    <a href={linkTo("tokens", [record.token])}>{record.token}</a>
                  ) : (
                    (record.token ?? "none")
                  )}
                </dd>
                <dt>Node</dt>
                <dd class="mono">{record.node}</dd>
                {record.traceparent !== null && (
                  <>
                    <dt>Trace</dt>
                    <dd class="mono">{record.traceparent}</dd>
                  </>
                )}
                {record.dropped !== null && record.dropped.lines > 0 && (
                  <>
                    <dt>Dropped</dt>
                    <dd>
                      {record.dropped.lines} lines, {bytes(record.dropped.bytes)}
                    </dd>
                  </>
                )}
              </dl>
            </section>
          </div>
        )}
      </Content>
    </>
  );
}
