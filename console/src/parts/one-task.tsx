import { type AnsweredRunRecord, CaissonError, type Task } from "@caisson/client";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { useAct } from "../act.ts";
import { draftOf, keepDraft } from "../drafts.ts";
import { type Loaded, useLoad } from "../load.ts";
import { rangesOf, rangesText } from "../package-ranges.ts";
import { goTo, linkTo, route, setQuery } from "../route.ts";
import { markOf } from "../run-mark.ts";
import { can, client, serviceUrl } from "../session.ts";
import { useSyntaxCheck } from "../syntax-check.ts";
import { ActNote } from "./act-note.tsx";
import { Code } from "./code.tsx";
import { confirm } from "./confirm.tsx";
import { Content } from "./content.tsx";
import { CopyButton } from "./copy-button.tsx";
import { Field } from "./field.tsx";
import { Outcome } from "./outcome.tsx";
import { type ListedRun, RunTable } from "./run-table.tsx";
import { TaskPackages } from "./task-packages.tsx";
import { TaskSecrets } from "./task-secrets.tsx";
import { TaskVersions } from "./task-versions.tsx";

interface OneTaskProps {
  readonly container: string;
  readonly name: string;
}

interface Draft {
  readonly code?: string;
  readonly public?: boolean;
  readonly description?: string;
  readonly timeout?: string;
  /** As a reader types them. */
  readonly packages?: string;
}

const CALLS_MS = 2_500;
const NEW = "export default (context) => {\n  return { hello: context.data.name };\n};\n";

/** The editor of a task, with its versions, its secrets and its last calls. */
export function OneTask({ container, name }: OneTaskProps) {
  const loaded = useLoad((signal) => readTask(container, name, signal), [container, name]);
  return (
    <>
      <div class="head">
        <h1>
          <a href={linkTo("tasks", [container])}>{container}</a> / {name}
        </h1>
      </div>
      <Content of={loaded}>
        {(task) => <TaskEditor container={container} name={name} task={task} onChange={loaded.reload} />}
      </Content>
    </>
  );
}

/** @returns null if there is no such task yet */
async function readTask(container: string, name: string, signal: AbortSignal): Promise<Task | null | undefined> {
  if (isNew()) return undefined;
  try {
    return await client().tasks.get(container, name, { signal });
  } catch (error) {
    if (error instanceof CaissonError && error.status === 404) return undefined;
    throw error;
  }
}

/** Whether the reader has just named the task: a browser reports a request for it as an error. */
function isNew(): boolean {
  return route.peek().query.get("new") === "1";
}

interface TaskEditorProps extends OneTaskProps {
  readonly task: Task | null | undefined;
  readonly onChange: () => void;
}

function TaskEditor({ container, name, task, onChange }: TaskEditorProps) {
  const place = `task ${container}/${name}`;
  const draft = useSignal<Draft>(draftOf(place) ?? {});
  const isDirty = Object.keys(draft.value).length > 0;
  useEffect(() => keepDraft(place, isDirty ? draft.value : null), [draft.value]);
  const discards = useSignal(0);
  const tried = useSignal<AnsweredRunRecord | null>(null);
  const act = useAct();
  const calls = useLoad((signal) => readCalls(container, name, signal), [container, name], CALLS_MS);
  const code = draft.value.code ?? task?.code ?? (task ? "" : NEW);
  const packages = draft.value.packages ?? rangesText(task?.packages);
  /** The text at first, and that of the last dry run or attempt to save: the service has no need to parse it. */
  const known = useSignal(code);
  const change = (changes: Draft): void => void (draft.value = { ...draft.value, ...changes });
  const definition = (): object => ({
    ...(task?.url == null && { code, typescript: true }),
    ...(draft.value.public !== undefined && { public: draft.value.public }),
    ...(draft.value.description !== undefined && {
      description: draft.value.description === "" ? null : draft.value.description,
    }),
    ...(draft.value.packages !== undefined && { packages: rangesOf(draft.value.packages) ?? null }),
    ...(draft.value.timeout !== undefined && { timeout: draft.value.timeout === "" ? null : draft.value.timeout }),
  });
  const save = (): void => {
    void act.run(async () => {
      const options = task ? { ifMatch: task.etag } : ({ ifNoneMatch: "*" } as const);
      const saved = draft.value;
      known.value = code;
      if (!(await mayDropSecrets())) return null;
      const { version } = await client().tasks.put(container, name, definition(), options);
      tried.value = null;
      // What the reader has typed meanwhile stays.
      if (draft.value === saved) draft.value = {};
      if (isNew()) setQuery({ new: "" });
      onChange();
      return `Saved as version ${version}.`;
    });
  };
  /** Secrets stay with their code. */
  const mayDropSecrets = async (): Promise<boolean> => {
    const names = task?.secretNames ?? [];
    const isOther = code !== (task?.code ?? "") || draft.value.packages !== undefined;
    if (names.length === 0 || task?.url != null || !isOther) return true;
    const destroys = `Secrets stay with their code. The new version has no secrets: ${names.join(", ")} cannot be read again, and must be set again.`;
    return confirm("Save without the secrets?", destroys, "Save");
  };
  const dryRun = (): void => {
    tried.value = null;
    known.value = code;
    void act.run(async () => {
      tried.value = await client().tasks.dryRun(container, name, definition());
      return "The code ran once in a fresh guest. Nothing was published.";
    });
  };
  const update = (): void => {
    void act.run(async () => {
      const names = Object.keys(task!.lock!.roots);
      const { version, lock } = await client().tasks.put(container, name, { update: names }, { ifMatch: task!.etag });
      onChange();
      return `Version ${version} has ${Object.values(lock?.roots ?? {}).join(", ")}.`;
    });
  };
  const remove = (): void => {
    void act.run(async () => {
      const destroys = `Its code, its versions, its secrets and its token are deleted. Calls of its URL are refused.`;
      if (!(await confirm(`Delete ${name}?`, destroys, "Delete"))) return null;
      await client().tasks.delete(container, name);
      goTo(linkTo("tasks", [container]));
      return "The task was deleted.";
    });
  };
  const failed = draft.value.code === undefined ? lastFailure(calls.value, task) : null;
  const fault = useSyntaxCheck(container, code, known.value, "task.ts", packages);
  const url = `${serviceUrl}/api/run/${encodeURIComponent(container)}/${encodeURIComponent(name)}`;
  return (
    <>
      <div class="columns">
        <div class="fields">
          {task?.url != null ? (
            <p class="notice">The code of this task is fetched from {task.url} for each run.</p>
          ) : (
            <Code
              label="Code of the task"
              value={code}
              revision={`${task?.etag ?? "new"} ${discards.value}`}
              mark={markOf(tried.value?.error ?? failed, act.error, code !== known.value)}
              fault={fault}
              onChange={(text) => change({ code: text })}
              onRun={can("run") ? dryRun : () => {}}
            />
          )}
          <Field
            label="Description"
            value={draft.value.description ?? task?.description ?? ""}
            onInput={(text) => change({ description: text })}
          />
          <Field
            label="Packages of npm"
            hint='such as zod@^4, lodash; code may also import "npm:zod@4"'
            value={packages}
            onInput={(text) => change({ packages: text })}
          />
          {task?.lock != null && <TaskPackages lock={task.lock} isBusy={act.isBusy} onUpdate={update} />}
          <Field
            label="Timeout"
            hint="such as 500ms or 5s; empty: the limit of the service"
            value={draft.value.timeout ?? task?.timeout ?? ""}
            onInput={(text) => change({ timeout: text })}
          />
          <label>
            <input
              type="checkbox"
              checked={draft.value.public ?? task?.public ?? false}
              onChange={(event) => change({ public: event.currentTarget.checked })}
            />{" "}
            Public: every client with the URL may run it
          </label>
          <div class="actions">
            <button type="button" class="primary" disabled={act.isBusy} onClick={save}>
              {task ? "Save a new version" : "Create the task"}
            </button>
            {can("run") && (
              <button type="button" disabled={act.isBusy} onClick={dryRun}>
                Dry run
              </button>
            )}
            {task && (
              <button type="button" class="danger" disabled={act.isBusy} onClick={remove}>
                Delete
              </button>
            )}
          </div>
          {isDirty && task && (
            <p class="quiet">
              Your changes are not saved yet.{" "}
              <button
                type="button"
                class="link"
                onClick={() => {
                  draft.value = {};
                  discards.value++;
                }}
              >
                Discard them
              </button>
            </p>
          )}
          <ActNote of={act} />
          {tried.value !== null && <Outcome record={tried.value} />}
        </div>
        <div class="fields">
          <section class="card" aria-label="URL">
            <h2>Webhook URL</h2>
            <div class="actions">
              <code>{url}</code>
              <CopyButton text={url}>Copy URL</CopyButton>
            </div>
            <p class="quiet">
              {(task?.public ?? false)
                ? "Every client with the URL may call it."
                : "A call needs a token with the verb run."}
            </p>
          </section>
          {task && <TaskSecrets task={task} onChange={onChange} />}
          {task && (
            <TaskVersions
              container={container}
              task={task}
              onRollback={() => {
                [draft.value, tried.value] = [{}, null];
                onChange();
              }}
            />
          )}
        </div>
      </div>
      {task && can("logs") && <LastCalls of={calls} />}
    </>
  );
}

/** Reads the last calls of a task, if the token may. */
async function readCalls(container: string, task: string, signal: AbortSignal): Promise<readonly ListedRun[]> {
  if (!can("logs")) return [];
  return (await client().runs.list({ container, task, limit: 20 }, { signal }).page()).runs;
}

/** Returns the error of the last call of the current version, if that call failed. */
function lastFailure(calls: readonly ListedRun[] | null, task: Task | null | undefined): ListedRun["error"] {
  const last = calls?.find(({ status }) => status !== "running");
  return last && last.version === task?.version ? last.error : null;
}

function LastCalls({ of: calls }: { readonly of: Loaded<readonly ListedRun[]> }) {
  return (
    <section class="card" aria-label="Last calls">
      <h2>Last calls</h2>
      <Content of={calls}>
        {(found) =>
          found.length === 0 ? (
            <p class="quiet">No call yet.</p>
          ) : (
            <RunTable rows={found} without={["Container", "Task"]} />
          )
        }
      </Content>
    </section>
  );
}
