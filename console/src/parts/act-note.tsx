import type { Act } from "../act.ts";
import { isAsking } from "./confirm.tsx";
import { ErrorNote } from "./error-note.tsx";

/** What the last change did, or why it failed. */
export function ActNote({ of: { error, done, isBusy } }: { readonly of: Act }) {
  return (
    <div aria-live="polite">
      {isBusy && !isAsking.value && <p class="quiet">Working...</p>}
      {error !== null && <ErrorNote error={error} />}
      {done !== null && <p class="notice done">{done}</p>}
    </div>
  );
}
