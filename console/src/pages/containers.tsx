import type { ContainerPage } from "@caisson/client";
import { useSignal } from "@preact/signals";

import { count, counted, perWindow } from "../format.ts";
import { labelText } from "../label-text.ts";
import { useList } from "../load-list.ts";
import { ErrorNote } from "../parts/error-note.tsx";
import { Field } from "../parts/field.tsx";
import { OneContainer } from "../parts/one-container.tsx";
import { type Column, VirtualTable } from "../parts/virtual-table.tsx";
import { goTo, linkTo, route } from "../route.ts";
import { can, client, onlyContainer, session } from "../session.ts";

type Row = ContainerPage["containers"][number];

/** The containers that the token sees, or one of them. */
export default function Containers() {
  const [name] = route.value.names;
  const chosen = onlyContainer.value ?? name;
  if (chosen !== undefined) return <OneContainer container={chosen} />;
  return can("issue") ? <All /> : <Named />;
}

function All() {
  const list = useList(
    (cursor, signal) =>
      client()
        .containers.list({ limit: 200, ...(cursor !== undefined && { cursor }) }, { signal })
        .page(),
    ({ containers }) => containers,
    [],
  );
  return (
    <>
      <div class="head">
        <h1>Containers</h1>
        <OpenByName />
      </div>
      {list.error !== null && <ErrorNote error={list.error} onRetry={list.reload} />}
      {list.entries.length > 0 && (
        <VirtualTable
          label="Containers"
          columns={COLUMNS}
          rows={list.entries}
          keyOf={({ container }) => container}
          onEnd={list.more}
        />
      )}
      {list.entries.length === 0 && !list.isLoading && list.error === null && (
        <p class="empty">No container has counts, limits or a guest. The first run in a container creates it.</p>
      )}
      <p class="quiet" role="status">
        {list.isLoading
          ? "Loading..."
          : `${counted(list.entries.length, "container")}${list.next === null ? "" : ", more when you scroll"}`}
      </p>
    </>
  );
}

/** A token that may not list containers shows the containers that it names. */
function Named() {
  const names = session.value?.claims.containers ?? [];
  return (
    <>
      <div class="head">
        <h1>Containers</h1>
        <OpenByName />
      </div>
      <p class="quiet">This token may use: {names.join(", ")}</p>
      <ul>
        {names
          .filter((each) => !each.endsWith("*"))
          .map((each) => (
            <li key={each}>
              <a href={linkTo("containers", [each])}>{each}</a>
            </li>
          ))}
      </ul>
    </>
  );
}

function OpenByName() {
  const name = useSignal("");
  return (
    <form
      class="actions"
      onSubmit={(event) => {
        event.preventDefault();
        if (name.value !== "") goTo(linkTo("containers", [name.value]));
      }}
    >
      <Field label="Open a container" value={name.value} onInput={(value) => (name.value = value)} />
      <button type="submit">Open</button>
    </form>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  {
    title: "Container",
    cell: ({ container }) => <a href={linkTo("containers", [container])}>{container}</a>,
    text: ({ container }) => container,
  },
  {
    title: "State",
    cell: ({ suspended, running }) =>
      suspended !== null ? (
        <span class="badge warn">suspended</span>
      ) : running > 0 ? (
        <span class="badge ok">{counted(running, "run")} in flight</span>
      ) : (
        <span class="badge">idle</span>
      ),
  },
  { title: "Runs, minute", isNumber: true, cell: ({ used }) => count(used.minute) },
  { title: "Runs, day", isNumber: true, cell: ({ used }) => count(used.day) },
  {
    title: "Limits",
    cell: ({ limits }) =>
      Object.entries(limits)
        .map(([window, value]) => `${value} ${perWindow(window)}`)
        .join(", "),
  },
  {
    title: "Labels",
    cell: ({ labels }) => labelText(labels),
  },
  { title: "Description", isWide: true, cell: ({ description }) => description ?? "" },
];
