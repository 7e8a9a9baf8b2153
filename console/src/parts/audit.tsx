import type { AuditPage } from "@caisson/client";

import { moment } from "../format.ts";
import { useList } from "../load-list.ts";
import { client } from "../session.ts";
import { ErrorNote } from "./error-note.tsx";
import { SilentNodes } from "./silent-nodes.tsx";
import { TokenLink } from "./token-link.tsx";
import { type Column, VirtualTable } from "./virtual-table.tsx";

type Entry = AuditPage["entries"][number];

/** The changes with their tokens, the newest first. */
export function Audit() {
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
      <SilentNodes of={list.page?.nodes} what="changes" />
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
  { title: "By", cell: ({ by }) => (by === null ? "the service" : <TokenLink jti={by} />) },
  { title: "From", cell: ({ client: address }) => address ?? "" },
  {
    title: "Details",
    isWide: true,
    cell: ({ details }) =>
      Object.entries(details)
        .map(([key, value]) => `${key} ${textOf(value)}`)
        .join(", "),
  },
];

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
