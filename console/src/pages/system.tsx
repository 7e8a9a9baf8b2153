import type { AuditPage } from "@caisson/client";

import { moment } from "../format.ts";
import { health } from "../health.ts";
import { useList } from "../load-list.ts";
import { useLoad } from "../load.ts";
import { Content } from "../parts/content.tsx";
import { ErrorNote } from "../parts/error-note.tsx";
import { type Column, VirtualTable } from "../parts/virtual-table.tsx";
import { client, serviceUrl } from "../session.ts";

type Entry = AuditPage["entries"][number];

/** The state of the service, its keys and nodes, and who changed what. */
export default function System() {
  const state = useLoad((signal) => health(signal), [], 10_000);
  const keys = useLoad((signal) => readKeys(signal), []);
  const nodes = useLoad((signal) => client().audit({ limit: 1 }, { signal }).page(), [], 10_000);
  return (
    <>
      <div class="head">
        <h1>System</h1>
      </div>
      <div class="columns">
        <section class="card" aria-label="Service">
          <h2>Service</h2>
          <Content of={state}>
            {(value) => (
              <dl class="facts">
                <dt>State</dt>
                <dd>{value.status}</dd>
                <dt>Version</dt>
                <dd>{value.version}</dd>
                <dt>Isolation</dt>
                <dd>{value.isolation}</dd>
                {value.insteadOf !== undefined && (
                  <>
                    <dt>Instead of a stronger level</dt>
                    <dd>{value.insteadOf}</dd>
                  </>
                )}
                {Object.entries(value.records ?? {}).map(([kind, lost]) => (
                  <div key={kind} class="contents">
                    <dt>Lost: {kind}</dt>
                    <dd class="mono">{JSON.stringify(lost)}</dd>
                  </div>
                ))}
                {Object.entries(value.egressRefused ?? {}).map(([reason, number]) => (
                  <div key={reason} class="contents">
                    <dt>Connections refused: {reason}</dt>
                    <dd>{number}</dd>
                  </div>
                ))}
              </dl>
            )}
          </Content>
          <p class="quiet">
            <code>caisson doctor</code> on the machine of the service proves each layer of the sandbox.
          </p>
        </section>
        <section class="card" aria-label="Keys and nodes">
          <h2>Keys and nodes</h2>
          <Content of={keys}>
            {(found) => (
              <dl class="facts">
                {found.map(({ kid, kty }) => (
                  <div key={kid} class="contents">
                    <dt>{kty} key</dt>
                    <dd class="mono">{kid}</dd>
                  </div>
                ))}
              </dl>
            )}
          </Content>
          <Content of={nodes}>
            {({ nodes: { asked, answered } }) => (
              <p>
                {answered} of {asked} {asked === 1 ? "node answers" : "nodes answer"}
              </p>
            )}
          </Content>
        </section>
      </div>
      <h2>Audit</h2>
      <Audit />
    </>
  );
}

async function readKeys(signal: AbortSignal): Promise<{ kid: string; kty: string }[]> {
  const response = await fetch(`${serviceUrl}/.well-known/jwks.json`, { signal });
  return ((await response.json()) as { keys: { kid: string; kty: string }[] }).keys;
}

function Audit() {
  const list = useList(
    (cursor, signal) =>
      client()
        .audit({ limit: 200, ...(cursor !== undefined && { cursor }) }, { signal })
        .page(),
    ({ entries }) => entries,
    [],
  );
  return (
    <>
      {list.error !== null && <ErrorNote error={list.error} onRetry={list.reload} />}
      {list.entries.length > 0 && (
        <VirtualTable
          label="Audit"
          columns={COLUMNS}
          rows={list.entries}
          keyOf={(entry) => `${entry.at} ${entry.action} ${JSON.stringify(entry.details)}`}
          onEnd={list.more}
        />
      )}
      {list.entries.length === 0 && !list.isLoading && <p class="empty">Nothing was changed yet.</p>}
    </>
  );
}

const COLUMNS: readonly Column<Entry>[] = [
  { title: "When (UTC)", cell: ({ at }) => moment(at) },
  { title: "What", cell: ({ action }) => action },
  { title: "By token", cell: ({ by }) => <span class="mono">{by ?? "the service"}</span> },
  { title: "From", cell: ({ client: address }) => address ?? "" },
  {
    title: "Details",
    cell: ({ details }) => (
      <span class="mono">
        {Object.entries(details)
          .map(([key, value]) => `${key}=${textOf(value)}`)
          .join(" ")}
      </span>
    ),
  },
];

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
