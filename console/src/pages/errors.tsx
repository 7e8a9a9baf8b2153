import type { FailureGroups } from "@caisson/client";

import { ago, count } from "../format.ts";
import { useLoad } from "../load.ts";
import { Content } from "../parts/content.tsx";
import { Choice, Field } from "../parts/field.tsx";
import { type Column, VirtualTable } from "../parts/virtual-table.tsx";
import { linkTo, route, setQuery } from "../route.ts";
import { client, onlyContainer } from "../session.ts";

type Group = FailureGroups["failures"][number];

/** Failures, grouped by their cause. */
export default function Errors() {
  const { query } = route.value;
  const container = onlyContainer.value ?? query.get("container") ?? "";
  const since = query.get("since") ?? "24h";
  const filters = { since, ...(container !== "" && { container }) };
  const groups = useLoad((signal) => client().failures(filters, { signal }), [container, since], 15_000);
  return (
    <>
      <div class="head">
        <h1>Errors</h1>
      </div>
      <div class="filters">
        {onlyContainer.value === null && (
          <Field label="Container" value={container} onInput={(value) => setQuery({ container: value })} />
        )}
        <Choice
          label="Since"
          value={since}
          choices={{ "1h": "an hour", "24h": "a day", "7d": "a week" }}
          onChange={(value) => setQuery({ since: value })}
        />
      </div>
      <Content of={groups}>
        {({ failures, complete }) => (
          <>
            {failures.length === 0 ? (
              <p class="empty">No task failed in this time.</p>
            ) : (
              <VirtualTable
                label="Failures"
                columns={COLUMNS}
                rows={failures}
                keyOf={({ container: name, task, code, frame, message }) =>
                  [name, task, code, frame, message].join(" ")
                }
              />
            )}
            {!complete && <p class="notice">There are more failures than one answer counts. Choose a shorter time.</p>}
          </>
        )}
      </Content>
    </>
  );
}

const COLUMNS: readonly Column<Group>[] = [
  { title: "Count", isNumber: true, cell: ({ count: number }) => count(number) },
  { title: "Error", cell: ({ name, code, message }) => <span title={message}>{`${name ?? code}: ${message}`}</span> },
  { title: "Where", cell: ({ frame }) => <span class="mono">{frame ?? ""}</span> },
  { title: "Container", cell: ({ container }) => <a href={linkTo("containers", [container])}>{container}</a> },
  {
    title: "Task",
    cell: ({ container, task }) => (task === null ? "" : <a href={linkTo("tasks", [container, task])}>{task}</a>),
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
