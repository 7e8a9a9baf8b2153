import { useSignal } from "@preact/signals";

import { offered, signIn } from "../session.ts";
import { ErrorNote } from "./error-note.tsx";

/** Asks before a token of a link replaces the token that is signed in. */
export function Offer() {
  const refusal = useSignal<Error | null>(null);
  const token = offered.value;
  if (token === null) return refusal.value && <ErrorNote error={refusal.value} />;
  const accept = (): void => {
    offered.value = null;
    refusal.value = null;
    void signIn(token).catch((error: Error) => (refusal.value = error));
  };
  return (
    <div class="notice" role="status">
      <p>This link contains another token. Replace the token that is signed in?</p>
      <button type="button" class="primary" onClick={accept}>
        Replace
      </button>
      <button type="button" onClick={() => (offered.value = null)}>
        Keep
      </button>
    </div>
  );
}
