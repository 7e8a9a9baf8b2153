import type { Task } from "@caisson/client";
import { useSignal } from "@preact/signals";

import { useAct } from "../act.ts";
import { ago } from "../format.ts";
import { lineDiff } from "../line-diff.ts";
import { useLoad } from "../load.ts";
import { client } from "../session.ts";
import { ActNote } from "./act-note.tsx";
import { confirm } from "./confirm.tsx";
import { Content } from "./content.tsx";

interface TaskVersionsProps {
  readonly container: string;
  readonly task: Task;
  readonly onRollback: () => void;
}

/** The last versions of a task, each with its difference to the current one. */
export function TaskVersions({ container, task, onRollback }: TaskVersionsProps) {
  const versions = useLoad(
    (signal) => client().tasks.versions(container, task.name, { signal }),
    [container, task.etag],
  );
  const shown = useSignal<number | null>(null);
  const act = useAct();
  const rollBack = (version: number): void => {
    void act.run(async () => {
      const destroys = `The task gets a new version with the content of version ${version}. Secrets stay only if the code is the same.`;
      if (!(await confirm(`Roll back to version ${version}?`, destroys, "Roll back"))) return null;
      const { version: now } = await client().tasks.rollback(container, task.name, version, { ifMatch: task.etag });
      onRollback();
      return `Version ${now} has the content of version ${version}.`;
    });
  };
  return (
    <section class="card" aria-label="Versions">
      <h2>Versions</h2>
      <Content of={versions}>
        {(found) => (
          <ul class="plain">
            {found.map((each) => (
              <li key={each.version}>
                <div class="actions">
                  <strong>{each.version}</strong>
                  <span class="quiet">{ago(each.changedAt)}</span>
                  {each.version === task.version ? (
                    <span class="badge ok">current</span>
                  ) : (
                    <>
                      <button type="button" onClick={() => rollBack(each.version)} disabled={act.isBusy}>
                        Roll back
                      </button>
                      <button
                        type="button"
                        aria-expanded={shown.value === each.version}
                        onClick={() => (shown.value = shown.value === each.version ? null : each.version)}
                      >
                        Difference
                      </button>
                    </>
                  )}
                </div>
                {shown.value === each.version && (
                  <DifferenceTo key={each.version} container={container} task={task} version={each.version} />
                )}
              </li>
            ))}
          </ul>
        )}
      </Content>
      <ActNote of={act} />
    </section>
  );
}

interface DifferenceToProps {
  readonly container: string;
  readonly task: Task;
  readonly version: number;
}

/** The lines that lead from a version to the current one. */
function DifferenceTo({ container, task, version }: DifferenceToProps) {
  const before = useLoad(
    (signal) => client().tasks.version(container, task.name, version, { signal }),
    [container, task.name, version],
  );
  return <Content of={before}>{(found) => <Difference before={textOf(found)} after={textOf(task)} />}</Content>;
}

/** Returns the code, or the URL that it is fetched from, and then the modules. */
function textOf({ code, url, modules }: Pick<Task, "code" | "url" | "modules">): string {
  const others = Object.entries(modules ?? {}).map(([name, text]) => `\n// ${name}\n${text}`);
  return [code ?? url ?? "", ...others].join("\n");
}

/** The lines that lead from one text to another. */
function Difference({ before, after }: { readonly before: string; readonly after: string }) {
  const lines = lineDiff(before, after);
  if (lines.every(({ kind }) => kind === "same"))
    return <p class="quiet">The code is the same; other members differ.</p>;
  return (
    <pre class="source diff" tabIndex={0}>
      {lines.map(({ kind, text }, at) => (
        <span key={at} class={kind}>
          {{ same: "  ", added: "+ ", removed: "- " }[kind]}
          {text}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
