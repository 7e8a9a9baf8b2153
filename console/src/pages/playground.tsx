import type { AnsweredRunRecord } from "@caisson/client";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { draftOf, keepDraft } from "../drafts.ts";
import { EXAMPLES } from "../examples.ts";
import { rangesOf } from "../package-ranges.ts";
import { Code } from "../parts/code.tsx";
import { CopyButton } from "../parts/copy-button.tsx";
import { ErrorNote } from "../parts/error-note.tsx";
import { Area, Choice, Field } from "../parts/field.tsx";
import { LimitsLeft } from "../parts/limits-left.tsx";
import { Outcome } from "../parts/outcome.tsx";
import { SaveTask } from "../parts/save-task.tsx";
import { route } from "../route.ts";
import { markOf } from "../run-mark.ts";
import { runWhenBuilt } from "../run-when-built.ts";
import { can, client, noticeRefusal, onlyContainer, session } from "../session.ts";
import { type Draft, encodedQuery, snippetsOf } from "../snippets.ts";
import { useSyntaxCheck } from "../syntax-check.ts";

const PLACE = "playground";
/** The part of the result that must be in view after a run. */
const LEAST_SHOWN_PX = 120;

/** Runs code, and shows what became of it. */
export default function Playground() {
  const draft = useSignal<Draft>(firstDraft());
  const revision = useSignal(0);
  /** The text at first, after an example was chosen, and at the last run: the service has no need to parse it. */
  const known = useSignal(draft.value.code);
  const record = useSignal<AnsweredRunRecord | null>(null);
  const refusal = useSignal<Error | null>(null);
  const running = useSignal<AbortController | null>(null);
  /** Whether the run waits for the build of its packages. */
  const building = useSignal(false);
  const change = (changes: Partial<Draft>): void => {
    draft.value = { ...draft.value, ...changes };
    keepDraft(PLACE, draft.value);
  };
  const run = async (): Promise<void> => {
    if (running.value !== null) return;
    const abort = new AbortController();
    running.value = abort;
    refusal.value = null;
    const { container, code, data, query, packages = "" } = draft.value;
    known.value = code;
    try {
      const options = {
        ...(data.trim() !== "" && { data: parsed(data) }),
        ...(query !== "" && { query: encodedQuery(query) }),
        ...(packages !== "" && { packages: rangesOf(packages) }),
      };
      record.value = await runWhenBuilt(
        () => client().record(container, code, { ...options, signal: abort.signal }),
        (isBuilding) => (building.value = isBuilding),
        abort.signal,
      );
    } catch (error) {
      noticeRefusal(error);
      record.value = null;
      refusal.value = abort.signal.aborted ? new Error("You cancelled the run.") : (error as Error);
    } finally {
      running.value = null;
      building.value = false;
    }
  };
  const results = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // On a phone the result is below the editor, out of view.
    const isBelow = (results.current?.getBoundingClientRect().top ?? 0) > innerHeight - LEAST_SHOWN_PX;
    if (isBelow && (record.value !== null || refusal.value !== null)) results.current!.scrollIntoView();
  }, [record.value, refusal.value]);
  const { container, code, data, query, packages = "" } = draft.value;
  const snippets = snippetsOf(draft.value);
  const fault = useSyntaxCheck(container, code, known.value, undefined, packages);
  return (
    <>
      <div class="head">
        <h1>Playground</h1>
        <div class="actions">
          <Choice
            label="Example"
            value=""
            choices={{ "": "Choose a form of code", ...titles() }}
            onChange={(name) => {
              const example = EXAMPLES[name];
              if (!example) return;
              known.value = example.code;
              change({ code: example.code, data: example.data ?? "", query: example.query ?? "", packages: "" });
              revision.value++;
            }}
          />
        </div>
      </div>
      <div class="columns">
        <div
          class="fields"
          onKeyDown={(event) => {
            // Also in the other fields. The editor has its own keys.
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.defaultPrevented) void run();
          }}
        >
          {onlyContainer.value === null && (
            <Field
              label="Container"
              value={container}
              list={suggestions()}
              onInput={(value) => change({ container: value })}
            />
          )}
          <div class="field">
            <span class="label">Code</span>
            <Code
              label="Code"
              value={code}
              revision={revision.value}
              mark={markOf(record.value?.error ?? null, refusal.value, code !== known.value)}
              fault={fault}
              onChange={(value) => change({ code: value })}
              onRun={() => void run()}
            />
          </div>
          <div class="actions">
            <button type="button" class="primary" disabled={running.value !== null} onClick={() => void run()}>
              {building.value ? "Building packages..." : running.value === null ? "Run" : "Running..."}
            </button>
            {running.value !== null && (
              <button type="button" onClick={() => running.value?.abort()}>
                Cancel
              </button>
            )}
            <span class="quiet">Ctrl-Enter runs too</span>
          </div>
          <Area
            label="Data (JSON), as context.data"
            rows={3}
            value={data}
            onInput={(value) => change({ data: value })}
          />
          <Field
            label="Query, as context.query"
            value={query}
            hint="such as a=1&b=2"
            onInput={(value) => change({ query: value })}
          />
          <Field
            label="Packages of npm"
            value={packages}
            hint='such as zod@^4, lodash; code may also import "npm:zod@4"'
            onInput={(value) => change({ packages: value })}
          />
          {can("tasks") && <SaveTask container={container} code={code} packages={packages} />}
          <details>
            <summary>Copy as</summary>
            <div class="actions">
              {Object.entries(snippets).map(([name, text]) => (
                <CopyButton key={name} text={text}>
                  {name}
                </CopyButton>
              ))}
            </div>
          </details>
        </div>
        <div class="fields" aria-live="polite" ref={results}>
          {refusal.value !== null && <ErrorNote error={refusal.value} />}
          {record.value === null && refusal.value === null && (
            <p class="empty">The result, the console and the times of a run appear here.</p>
          )}
          {record.value !== null && <Outcome record={record.value} />}
          {record.value !== null && (
            <section class="card" aria-label="Limits">
              <h2>Limits</h2>
              <LimitsLeft limits={record.value.limits} />
            </section>
          )}
        </div>
      </div>
    </>
  );
}

function firstDraft(): Draft {
  const asked = route.value.query.get("container");
  const only = onlyContainer.value;
  const example = EXAMPLES["body"]!;
  const draft = (draftOf(PLACE) as Draft | null) ?? {
    container: suggestions()[0] ?? "demo",
    code: example.code,
    data: example.data!,
    query: "",
  };
  return { ...draft, container: only ?? asked ?? draft.container };
}

function suggestions(): string[] {
  return (session.value?.claims.containers ?? []).filter((name) => !name.endsWith("*"));
}

function titles(): Record<string, string> {
  return Object.fromEntries(Object.entries(EXAMPLES).map(([name, { title }]) => [name, title]));
}

/** @throws {Error} if the text is not JSON */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`The data is no JSON: ${(error as Error).message}`, { cause: error });
  }
}
