import { useAct } from "../act.ts";
import { ago, counted } from "../format.ts";
import { useLoad } from "../load.ts";
import { linkTo } from "../route.ts";
import { can, client, isAdmin } from "../session.ts";
import { ActNote } from "./act-note.tsx";
import { confirm } from "./confirm.tsx";
import { ContainerPolicy } from "./container-policy.tsx";
import { Content } from "./content.tsx";
import { DayOfRuns } from "./day-of-runs.tsx";
import { FailureTable } from "./failure-table.tsx";
import { Gauges } from "./gauges.tsx";
import { RunTable } from "./run-table.tsx";
import { TokenLink } from "./token-link.tsx";

const EVERY_MS = 5_000;
const FAILURES_MS = 15_000;
const MOST_FAILURES = 20;

/** One container: its limits and policy, its latest runs, its errors and usage, its tasks and tokens. */
export function OneContainer({ container }: { readonly container: string }) {
  return (
    <>
      <div class="head">
        <h1>{container}</h1>
        <div class="actions">{can("run") && <a href={linkTo("playground", [], { container })}>Run code</a>}</div>
      </div>
      <div class="columns">
        {can("limits") && <Limits container={container} />}
        {isAdmin.value && <ContainerPolicy container={container} />}
      </div>
      {can("logs") && <Latest container={container} />}
      {can("logs") && <ErrorsOf container={container} />}
      {can("logs") && <UsageOf container={container} />}
      <div class="columns">
        {can("tasks") && <TasksOf container={container} />}
        {can("issue") && <TokensOf container={container} />}
      </div>
    </>
  );
}

function Limits({ container }: { readonly container: string }) {
  const state = useLoad(
    (signal) => client().limits.getContainer(container, { detail: true, signal }),
    [container],
    EVERY_MS,
  );
  const act = useAct();
  const reset = (): void => {
    void act.run(async () => {
      const destroys = `All counts of ${container} go to zero, for all tokens. Its limits then admit runs at once.`;
      if (!(await confirm("Reset the counts?", destroys, "Reset"))) return null;
      await client().limits.resetContainer(container);
      state.reload();
      return "The counts were reset.";
    });
  };
  return (
    <section class="card" aria-label="Limits">
      <div class="head">
        <h2>Limits</h2>
        {isAdmin.value && (
          <div class="actions">
            <button type="button" class="danger" onClick={reset}>
              Reset counts
            </button>
          </div>
        )}
      </div>
      <Content of={state}>{(value) => <Gauges state={value} />}</Content>
      <ActNote of={act} />
    </section>
  );
}

function TasksOf({ container }: { readonly container: string }) {
  const tasks = useLoad((signal) => client().tasks.list(container, {}, { signal }).page(), [container]);
  return (
    <section class="card" aria-label="Tasks">
      <div class="head">
        <h2>Tasks</h2>
        <div class="actions">
          <a href={linkTo("tasks", [container])}>Open the editor</a>
        </div>
      </div>
      <Content of={tasks}>
        {({ tasks: found }) =>
          found.length === 0 ? (
            <p class="quiet">No named task yet. The playground saves one.</p>
          ) : (
            <ul class="plain">
              {found.map(({ name, version, public: isPublic, changedAt }) => (
                <li key={name}>
                  <a href={linkTo("tasks", [container, name])}>{name}</a> version {version}
                  {isPublic ? ", public" : ""}, <span class="quiet">changed {ago(changedAt)}</span>
                </li>
              ))}
            </ul>
          )
        }
      </Content>
    </section>
  );
}

function Latest({ container }: { readonly container: string }) {
  const runs = useLoad(
    (signal) => client().runs.list({ container, limit: 20 }, { signal }).page(),
    [container],
    EVERY_MS,
  );
  return (
    <section class="card" aria-label="Latest runs">
      <div class="head">
        <h2>Latest runs</h2>
        <div class="actions">
          <a href={linkTo("runs", [], { container })}>Full history</a>
          <a href={linkTo("runs", [], { container, live: "1" })}>Live tail</a>
        </div>
      </div>
      <Content of={runs}>
        {({ runs: found }) =>
          found.length === 0 ? <p class="quiet">No run yet.</p> : <RunTable rows={found} without={["Container"]} />
        }
      </Content>
    </section>
  );
}

function ErrorsOf({ container }: { readonly container: string }) {
  const groups = useLoad(
    (signal) => client().failures({ container, since: "7d" }, { signal }),
    [container],
    FAILURES_MS,
  );
  return (
    <section class="card" aria-label="Errors">
      <div class="head">
        <h2>Errors of the last 7 days</h2>
        <div class="actions">
          <a href={linkTo("errors", [], { container })}>All errors</a>
        </div>
      </div>
      <Content of={groups}>
        {({ failures }) =>
          failures.length === 0 ? (
            <p class="quiet">No task failed.</p>
          ) : (
            <FailureTable failures={failures.slice(0, MOST_FAILURES)} isOfOne />
          )
        }
      </Content>
    </section>
  );
}

function UsageOf({ container }: { readonly container: string }) {
  return (
    <section class="card" aria-label="Usage">
      <div class="head">
        <h2>Usage of the last 24 hours</h2>
        <div class="actions">
          <a href={linkTo("usage", [], { container })}>Other times, and CSV</a>
        </div>
      </div>
      <DayOfRuns container={container} />
    </section>
  );
}

function TokensOf({ container }: { readonly container: string }) {
  const tokens = useLoad((signal) => client().tokens.list({ container }, { signal }).page(), [container]);
  return (
    <section class="card" aria-label="Tokens">
      <div class="head">
        <h2>Tokens</h2>
        <div class="actions">
          <a href={linkTo("tokens", [], { container })}>Issue a token</a>
        </div>
      </div>
      <Content of={tokens}>
        {({ tokens: found }) => (
          <ul class="plain">
            {found
              .filter(({ claims, revoked }) => revoked === null && claims.task === null)
              .map(({ jti, claims, runs }) => (
                <li key={jti}>
                  <TokenLink jti={jti} /> {claims.description ?? ""}{" "}
                  <span class="quiet">
                    {claims.admin ? "administrator" : claims.can.join(", ")}, {counted(runs, "run")}
                  </span>
                </li>
              ))}
          </ul>
        )}
      </Content>
    </section>
  );
}
