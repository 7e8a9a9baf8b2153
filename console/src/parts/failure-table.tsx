import type { FailureGroups } from "@caisson/client";

import { ago, count, headOf } from "../format.ts";
import { linkTo } from "../route.ts";
import { can, onlyContainer } from "../session.ts";
import { type Column, VirtualTable } from "./virtual-table.tsx";

type Group = FailureGroups["failures"][number];

interface FailureTableProps {
  readonly failures: readonly Group[];
  /** Whether all failures are of one container, which needs no column. By default those of a narrow token are. */
  readonly isOfOne?: boolean;
}

/** Failures, grouped by their cause, each with a link to the latest run. */
export function FailureTable({ failures, isOfOne = onlyContainer.value !== null }: FailureTableProps) {
  return (
    <VirtualTable
      label="Failures"
      columns={isOfOne ? COLUMNS.filter(({ title }) => title !== "Container") : COLUMNS}
      rows={failures}
      keyOf={({ container, task, code, frame, message }) => [container, task, code, frame, message].join(" ")}
    />
  );
}

const COLUMNS: readonly Column<Group>[] = [
  { title: "Count", isNumber: true, cell: ({ count: number }) => count(number) },
  { title: "Code", cell: ({ code }) => <span class="mono">{code}</span> },
  {
    title: "Error",
    isWide: true,
    cell: ({ name, message }) => `${name === null ? "" : `${name}: `}${headOf(message)}`,
  },
  { title: "Where", cell: ({ frame }) => <span class="mono">{frame ?? ""}</span> },
  {
    title: "Container",
    cell: ({ container }) => <a href={linkTo("containers", [container])}>{container}</a>,
    text: ({ container }) => container,
  },
  {
    title: "Task",
    cell: ({ container, task }) =>
      task === null ? "" : can("tasks") ? <a href={linkTo("tasks", [container, task])}>{task}</a> : task,
    text: ({ task }) => task ?? "",
  },
  { title: "First", cell: ({ firstAt }) => <span title={firstAt}>{ago(firstAt)}</span> },
  {
    title: "Last",
    cell: ({ container, run, lastAt }) => (
      <a href={linkTo("runs", [container, run])} title={`${lastAt}, run ${run}`}>
        {ago(lastAt)}
      </a>
    ),
  },
];
