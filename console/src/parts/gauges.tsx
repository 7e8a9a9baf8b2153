import type { LimitState } from "@caisson/client";

import { count, duration } from "../format.ts";

type Detail = Readonly<
  Record<
    string,
    {
      readonly limit: number | null;
      readonly remaining: number | null;
      readonly used: number;
      readonly resetSeconds: number | null;
      readonly setBy: string | null;
      readonly jti?: string;
    }
  >
>;

const SET_BY: Readonly<Record<string, string>> = {
  server: "the settings of the service",
  policy: "the policy of the container",
  token: "the token",
};

/** The limits of a container or of a token as gauges: what is left, when it grows, and who set it. */
export function Gauges({ state }: { readonly state: LimitState }) {
  const windows = Object.entries(state as Detail);
  const limited = windows.filter(([, { limit }]) => limit !== null);
  return (
    <>
      {limited.length === 0 && <p class="quiet">No limit is set.</p>}
      <ul class="gauges">
        {limited.map(([window, { limit, remaining, used, resetSeconds, setBy, jti }]) => (
          <li key={window}>
            <strong>{window}</strong>
            <meter
              aria-label={`${window}: ${remaining ?? 0} of ${limit} left`}
              min={0}
              max={limit!}
              low={limit! * 0.2}
              value={Math.max(0, remaining ?? 0)}
            />
            <span class="quiet small">
              {count(Math.max(0, remaining ?? 0))} of {count(limit!)} left, {count(used)} used
              {resetSeconds
                ? `, ${(remaining ?? 0) > 0 ? "one more" : "the next run fits"} in ${duration(resetSeconds * 1_000)}`
                : ""}
              {setBy !== null && `, set by ${SET_BY[setBy] ?? setBy}`}{" "}
              {jti !== undefined && <span class="mono">{jti}</span>}
            </span>
          </li>
        ))}
      </ul>
      <p class="quiet small">Used: {windows.map(([window, { used }]) => `${window} ${count(used)}`).join(", ")}</p>
    </>
  );
}
