import type { RunPage } from "@caisson/client";

import { ago, duration, headOf } from "../format.ts";
import { linkTo } from "../route.ts";
import { can, onlyContainer } from "../session.ts";
import { StatusBadge } from "./status-badge.tsx";
import { type Column, VirtualTable } from "./virtual-table.tsx";

export type ListedRun = RunPage["runs"][number];

interface RunTableProps {
  readonly rows: readonly ListedRun[];
  readonly onEnd?: () => void;
  /** Columns that would have the same value in all rows. */
  readonly without?: readonly ("Container" | "Task")[];
}

/** Runs, each with a link to its record. */
export function RunTable({ rows, onEnd, without = [] }: RunTableProps) {
  const hidden: readonly string[] = onlyContainer.value === null ? without : ["Container", ...without];
  return (
    <VirtualTable
      label="Runs"
      columns={COLUMNS.filter(({ title }) => !hidden.includes(title))}
      rows={rows}
      keyOf={({ run }) => run}
      {...(onEnd === undefined ? {} : { onEnd })}
    />
  );
}

const COLUMNS: readonly Column<ListedRun>[] = [
  { title: "Status", cell: ({ status }) => <StatusBadge status={status} /> },
  {
    title: "Run",
    cell: ({ container, run }) => (
      <a class="mono" href={linkTo("runs", [container, run])}>
        {run}
      </a>
    ),
  },
  {
    title: "Container",
    cell: ({ container }) => <a href={linkTo("containers", [container])}>{container}</a>,
    text: ({ container }) => container,
  },
  {
    title: "Task",
    cell: ({ container, task }) =>
      task === null ? (
        <span class="quiet">code</span>
      ) : can("tasks") ? (
        <a href={linkTo("tasks", [container, task])}>{task}</a>
      ) : (
        task
      ),
    text: ({ task }) => task ?? "",
  },
  { title: "Started", cell: ({ startedAt }) => <span title={startedAt}>{ago(startedAt)}</span> },
  { title: "Took", isNumber: true, cell: ({ ms }) => (ms?.run == null ? "" : duration(ms.run)) },
  {
    title: "Error",
    isWide: true,
    cell: ({ error }) =>
      error === null
        ? ""
        : `${error.name ?? error.code}: ${headOf(error.message)}${error.at ? ` (${error.at.file}:${error.at.line})` : ""}`,
  },
];
