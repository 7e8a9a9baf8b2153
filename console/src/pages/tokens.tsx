import type { Token } from "@caisson/client";
import { useSignal } from "@preact/signals";

import { ago, ahead, count, counted, moment } from "../format.ts";
import { useList } from "../load-list.ts";
import { ErrorNote } from "../parts/error-note.tsx";
import { Filter } from "../parts/filter.tsx";
import { IssueToken } from "../parts/issue-token.tsx";
import { OneToken } from "../parts/one-token.tsx";
import { TokenLink } from "../parts/token-link.tsx";
import { type Column, VirtualTable } from "../parts/virtual-table.tsx";
import { route, setQuery } from "../route.ts";
import { client } from "../session.ts";

/** Issues, lists and revokes tokens. */
export default function Tokens() {
  const { names, query } = route.value;
  const container = query.get("container") ?? "";
  const issued = useSignal(0);
  if (names[0] !== undefined) return <OneToken jti={names[0]} />;
  return (
    <>
      <div class="head">
        <h1>Tokens</h1>
      </div>
      <IssueToken container={container} onIssued={() => issued.value++} />
      <h2>Issued tokens</h2>
      <div class="filters">
        <Filter
          label="That reach the container"
          value={container}
          onChange={(value) => setQuery({ container: value })}
        />
      </div>
      <Issued container={container} revision={issued.value} />
    </>
  );
}

interface IssuedProps {
  readonly container: string;
  /** Changes when a token was issued. */
  readonly revision: number;
}

function Issued({ container, revision }: IssuedProps) {
  const list = useList(
    (cursor, signal) =>
      client()
        .tokens.list(
          { limit: 200, ...(container !== "" && { container }), ...(cursor !== undefined && { cursor }) },
          { signal },
        )
        .page(),
    ({ tokens }) => tokens,
    [container, revision],
  );
  return (
    <>
      {list.error !== null && <ErrorNote error={list.error} onRetry={list.reload} />}
      {list.entries.length > 0 && (
        <VirtualTable label="Tokens" columns={COLUMNS} rows={list.entries} keyOf={({ jti }) => jti} onEnd={list.more} />
      )}
      <p class="quiet" role="status">
        {list.isLoading
          ? "Loading..."
          : `${counted(list.entries.length, "token")}${list.next === null ? "" : ", more when you scroll"}`}
      </p>
    </>
  );
}

const COLUMNS: readonly Column<Token>[] = [
  { title: "Token", cell: ({ jti }) => <TokenLink jti={jti} /> },
  { title: "Description", isWide: true, cell: ({ claims: { description } }) => description ?? "" },
  {
    title: "State",
    cell: ({ revoked, claims: { exp } }) =>
      revoked !== null ? (
        <span class="badge bad">revoked</span>
      ) : exp !== null && exp * 1_000 < Date.now() ? (
        <span class="badge warn">expired</span>
      ) : (
        <span class="badge ok">valid</span>
      ),
  },
  {
    title: "May",
    cell: ({ claims: { admin, can, task } }) =>
      admin ? "everything" : task !== null ? `run the task ${task}` : can.join(", "),
  },
  { title: "Containers", cell: ({ claims: { admin, containers } }) => (admin ? "all" : containers.join(", ")) },
  { title: "Runs", isNumber: true, cell: ({ runs }) => count(runs) },
  {
    title: "Last used",
    cell: ({ lastUsed }) => (lastUsed === null ? "never" : <span title={lastUsed}>{ago(lastUsed)}</span>),
  },
  {
    title: "Ends",
    cell: ({ claims: { exp } }) => (exp === null ? "never" : <span title={`${moment(exp)} UTC`}>{ahead(exp)}</span>),
  },
];
