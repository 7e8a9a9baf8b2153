import type { TaskPage } from "@caisson/client";
import { useSignal } from "@preact/signals";

import { ago } from "../format.ts";
import { useList } from "../load-list.ts";
import { useLoad } from "../load.ts";
import { Content } from "../parts/content.tsx";
import { ErrorNote } from "../parts/error-note.tsx";
import { Field } from "../parts/field.tsx";
import { OneTask } from "../parts/one-task.tsx";
import { type Column, VirtualTable } from "../parts/virtual-table.tsx";
import { goTo, linkTo, route } from "../route.ts";
import { can, client, onlyContainer, session } from "../session.ts";

type Row = TaskPage["tasks"][number];

/** The named tasks of a container, or one of them. */
export default function Tasks() {
  const [named, task] = route.value.names;
  const container = onlyContainer.value ?? named ?? firstContainer();
  if (container !== null && task !== undefined)
    return <OneTask key={`${container}/${task}`} container={container} name={task} />;
  return (
    <>
      <div class="head">
        <h1>Tasks</h1>
        {onlyContainer.value === null && <ChooseContainer container={container} />}
      </div>
      {container === null ? <ChosenFromList /> : <TasksOf container={container} />}
    </>
  );
}

function firstContainer(): string | null {
  return (session.value?.claims.containers ?? []).find((each) => !each.endsWith("*")) ?? null;
}

function ChooseContainer({ container }: { readonly container: string | null }) {
  const name = useSignal(container ?? "");
  return (
    <form
      class="actions"
      onSubmit={(event) => {
        event.preventDefault();
        if (name.value !== "") goTo(linkTo("tasks", [name.value]));
      }}
    >
      <Field label="Container" value={name.value} onInput={(value) => (name.value = value)} />
      <button type="submit">Show</button>
    </form>
  );
}

/** The containers to choose from, if the token may list them. */
function ChosenFromList() {
  const page = useLoad(
    (signal) => (can("issue") ? client().containers.list({ limit: 200 }, { signal }).page() : Promise.resolve(null)),
    [],
  );
  return (
    <>
      <p class="empty">Choose a container to see its tasks.</p>
      <Content of={page}>
        {(found) =>
          found !== null &&
          found.containers.length > 0 && (
            <ul class="checks">
              {found.containers.map(({ container, description }) => (
                <li key={container}>
                  <a href={linkTo("tasks", [container])}>{container}</a>
                  {description !== null && <span class="quiet small">{description}</span>}
                </li>
              ))}
              {found.next !== null && <li class="quiet">There are more containers: name one above.</li>}
            </ul>
          )
        }
      </Content>
    </>
  );
}

function TasksOf({ container }: { readonly container: string }) {
  const name = useSignal("");
  const list = useList(
    (cursor, signal) =>
      client()
        .tasks.list(container, { limit: 100, ...(cursor !== undefined && { cursor }) }, { signal })
        .page(),
    ({ tasks }) => tasks,
    [container],
  );
  return (
    <>
      {list.error !== null && <ErrorNote error={list.error} onRetry={list.reload} />}
      {list.entries.length > 0 && (
        <VirtualTable label="Tasks" columns={COLUMNS} rows={list.entries} keyOf={(row) => row.name} onEnd={list.more} />
      )}
      {list.entries.length === 0 && !list.isLoading && list.error === null && (
        <p class="empty">
          {container} has no named task. A named task is code that the service keeps, and that a webhook can call.
        </p>
      )}
      <form
        class="actions"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.value === "") return;
          const isKnown = list.entries.some((each) => each.name === name.value);
          goTo(linkTo("tasks", [container, name.value], isKnown ? {} : { new: "1" }));
        }}
      >
        <Field label="New task" value={name.value} onInput={(value) => (name.value = value)} />
        <button type="submit">Write it</button>
      </form>
    </>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "Task", cell: ({ container, name }) => <a href={linkTo("tasks", [container, name])}>{name}</a> },
  { title: "Version", isNumber: true, cell: ({ version }) => version },
  {
    title: "State",
    cell: ({ revoked, expired, public: isPublic }) =>
      revoked ? (
        <span class="badge bad">revoked</span>
      ) : expired ? (
        <span class="badge bad">expired</span>
      ) : isPublic ? (
        <span class="badge warn">public</span>
      ) : (
        <span class="badge">private</span>
      ),
  },
  { title: "Changed", cell: ({ changedAt }) => <span title={changedAt}>{ago(changedAt)}</span> },
  { title: "Description", isWide: true, cell: ({ description }) => description ?? "" },
];
