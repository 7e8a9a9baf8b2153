import { useSignal } from "@preact/signals";

import { Brand } from "../parts/brand.tsx";
import { farewell, serviceUrl, signIn } from "../session.ts";

/** One field for a token. */
export function SignIn() {
  const token = useSignal("");
  const isBusy = useSignal(false);
  const refusal = useSignal<string | null>(null);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isBusy.value) return;
    isBusy.value = true;
    refusal.value = null;
    try {
      await signIn(token.value.trim());
    } catch (error) {
      refusal.value = (error as { detail?: string }).detail ?? (error as Error).message;
    } finally {
      isBusy.value = false;
    }
  };
  const notice = refusal.value ?? farewell.value;
  return (
    <main class="sign-in">
      <h1>
        <Brand />
      </h1>
      <p>
        Sign in with a token. The administrative token is in the file <code>admin.token</code> of the data folder; the
        service prints its path when it starts. This tab keeps the token until it is closed.
      </p>
      <form onSubmit={(event) => void submit(event)}>
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          spellcheck={false}
          autofocus
          required
          value={token.value}
          onInput={(event) => (token.value = event.currentTarget.value)}
        />
        <button class="primary" type="submit" disabled={isBusy.value}>
          {isBusy.value ? "Checking..." : "Sign in"}
        </button>
      </form>
      {notice !== null && (
        <p class="refusal" role="alert">
          {notice}
        </p>
      )}
      <p class="quiet">{serviceUrl}</p>
    </main>
  );
}
