import { useLoad } from "../load.ts";
import { Content } from "../parts/content.tsx";
import { FailureTable } from "../parts/failure-table.tsx";
import { Choice } from "../parts/field.tsx";
import { Filter } from "../parts/filter.tsx";
import { SilentNodes } from "../parts/silent-nodes.tsx";
import { route, setQuery } from "../route.ts";
import { client, onlyContainer } from "../session.ts";

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
          <Filter label="Container" value={container} onChange={(value) => setQuery({ container: value })} />
        )}
        <Choice
          label="Since"
          value={since}
          choices={{ "1h": "an hour", "24h": "a day", "7d": "a week" }}
          onChange={(value) => setQuery({ since: value })}
        />
      </div>
      <Content of={groups}>
        {({ failures, complete, next, nodes }) => (
          <>
            {failures.length === 0 ? (
              <p class="empty">No task failed in this time.</p>
            ) : (
              <FailureTable failures={failures} />
            )}
            <SilentNodes of={nodes} what="failures" />
            {!complete && next !== null && (
              <p class="notice">There are more failures than one answer counts. Choose a shorter time.</p>
            )}
          </>
        )}
      </Content>
    </>
  );
}
