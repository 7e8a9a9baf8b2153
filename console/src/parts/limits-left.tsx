import type { AnsweredRunRecord } from "@caisson/client";

import { count, duration } from "../format.ts";

const SET_BY: Readonly<Record<string, string>> = {
  default: "the settings of the service",
  policy: "the policy of the container",
  token: "the token",
  ancestor: "a token above it",
  task: "the task",
};

/** What the limits that apply to a run have left. */
export function LimitsLeft({ limits }: { readonly limits: AnsweredRunRecord["limits"] }) {
  const rows = Object.entries(limits ?? {}).flatMap(([kind, windows]) =>
    Object.entries(windows).map(([window, state]) => ({ name: `${kind}, ${window}`, ...state })),
  );
  if (rows.length === 0) return <p class="quiet">No limit applies to this run.</p>;
  return (
    <ul class="gauges">
      {rows.map(({ name, limit, remaining, resetMs, setBy }) => (
        <li key={name}>
          <span>{name}</span>
          <meter
            aria-label={`${name}: ${remaining} of ${limit} left`}
            min={0}
            max={limit}
            low={limit * 0.2}
            value={Math.max(0, remaining)}
          />
          <span class="quiet">
            {count(Math.max(0, remaining))} of {count(limit)} left
            {resetMs > 0 && `, ${remaining > 0 ? "one more" : "the next run fits"} in ${duration(resetMs)}`}, set by{" "}
            {SET_BY[setBy] ?? setBy}
          </span>
        </li>
      ))}
    </ul>
  );
}
