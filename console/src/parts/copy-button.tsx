import { useSignal } from "@preact/signals";

const SHOWN_MS = 1_500;

/** Copies a text. */
export function CopyButton({ text, children = "Copy" }: { readonly text: string; readonly children?: string }) {
  const outcome = useSignal<string | null>(null);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      outcome.value = "Copied";
    } catch {
      outcome.value = "The browser does not permit copying";
    }
    setTimeout(() => (outcome.value = null), SHOWN_MS);
  };
  return (
    <button type="button" onClick={() => void copy()}>
      <span aria-live="polite">{outcome.value ?? children}</span>
    </button>
  );
}
