import type { Packages } from "@caisson/client";

import { ago } from "../format.ts";
import { rangesText } from "../package-ranges.ts";
import { can } from "../session.ts";
import { TokenLink } from "./token-link.tsx";

/** The builds that wait or run: one runs at a time. */
export function PackageBuilds({ builds }: { readonly builds: Packages["builds"] }) {
  return (
    <section class="part" aria-label="Builds under way">
      <h2>Builds under way</h2>
      {builds.length === 0 ? (
        <p class="quiet">No build runs or waits.</p>
      ) : (
        <ul class="checks">
          {builds.map(({ packages, state, requestedBy, orderedAt, startedAt }) => (
            <li key={`${orderedAt} ${rangesText(packages)}`}>
              <div class="actions">
                <span class={`badge ${state === "building" ? "ok" : ""}`}>{state}</span>
                <strong class="mono">{rangesText(packages)}</strong>
                <span class="quiet">
                  {startedAt === null ? `ordered ${ago(orderedAt)}` : `began ${ago(startedAt)}`}
                </span>
                {can("issue") && (
                  <span class="quiet">
                    by <TokenLink jti={requestedBy} />
                  </span>
                )}
              </div>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
