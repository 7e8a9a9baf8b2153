import { offered, signIn } from "../session.ts";

/** Asks before a token of a link replaces the token that is signed in. */
export function Offer() {
  const token = offered.value;
  if (token === null) return null;
  const accept = (): void => {
    offered.value = null;
    void signIn(token).catch(() => {});
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
