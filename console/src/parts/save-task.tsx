import { CaissonError, type Task, type TaskRequest } from "@caisson/client";
import { useSignal } from "@preact/signals";

import { rangesOf } from "../package-ranges.ts";
import { linkTo } from "../route.ts";
import { client, noticeRefusal, serviceUrl } from "../session.ts";
import { confirm } from "./confirm.tsx";
import { CopyButton } from "./copy-button.tsx";
import { ErrorNote } from "./error-note.tsx";
import { Field } from "./field.tsx";

/** Saves a task. Before another version replaces one, it asks. @returns null if the reader does not want that */
async function put(container: string, name: string, definition: TaskRequest): Promise<Task | null> {
  const { tasks } = client();
  try {
    return await tasks.put(container, name, definition, { ifNoneMatch: "*" });
  } catch (error) {
    if (!(error instanceof CaissonError) || error.code !== "precondition_failed") throw error;
    const { version, etag, secretNames } = await tasks.get(container, name);
    const lost = secretNames?.length ? ` Other code has no secrets: ${secretNames.join(", ")} must be set again.` : "";
    const replaces = `The URL of ${name} then runs this code. Version ${version} stays among the versions of the task.${lost}`;
    if (!(await confirm(`Replace the task ${name}?`, replaces, "Replace"))) return null;
    return await tasks.put(container, name, definition, { ifMatch: etag });
  }
}

interface SaveTaskProps {
  readonly container: string;
  readonly code: string;
  /** As a reader types them. */
  readonly packages: string;
}

/** Keeps the code of the editor as a named task, which a webhook can call. */
export function SaveTask({ container, code, packages }: SaveTaskProps) {
  const name = useSignal("");
  const isPublic = useSignal(true);
  const saved = useSignal<{ readonly name: string; readonly version: number } | null>(null);
  const refusal = useSignal<Error | null>(null);
  const isBusy = useSignal(false);
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    isBusy.value = true;
    [saved.value, refusal.value] = [null, null];
    try {
      const ranges = rangesOf(packages);
      const definition = { code, public: isPublic.value, typescript: true, ...(ranges && { packages: ranges }) };
      const task = await put(container, name.value, definition);
      if (task !== null) saved.value = { name: task.name, version: task.version };
    } catch (error) {
      noticeRefusal(error);
      refusal.value = error as Error;
    } finally {
      isBusy.value = false;
    }
  };
  const url = saved.value === null ? "" : `${serviceUrl}/api/run/${container}/${saved.value.name}`;
  return (
    <details class="card">
      <summary>Save as task</summary>
      <form class="fields" onSubmit={(event) => void save(event)}>
        <Field label="Name of the task" value={name.value} isRequired onInput={(value) => (name.value = value)} />
        <label>
          <input
            type="checkbox"
            checked={isPublic.value}
            onChange={(event) => (isPublic.value = event.currentTarget.checked)}
          />{" "}
          Public: every client with the URL may run it, as a webhook does
        </label>
        <div class="actions">
          <button type="submit" disabled={isBusy.value}>
            {isBusy.value ? "Saving..." : "Save task"}
          </button>
        </div>
      </form>
      {refusal.value !== null && <ErrorNote error={refusal.value} />}
      {saved.value !== null && (
        <div class="notice" role="status">
          <p>
            Saved as version {saved.value.version} of{" "}
            <a href={linkTo("tasks", [container, saved.value.name])}>{saved.value.name}</a>. Webhook URL:{" "}
            <code>{url}</code>
          </p>
          <CopyButton text={url}>Copy URL</CopyButton>
        </div>
      )}
    </details>
  );
}
