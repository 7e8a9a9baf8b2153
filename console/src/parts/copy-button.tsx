import { useSignal } from "@preact/signals";

const SHOWN_MS = 1_500;

/** Copies a text. */
export function CopyButton({ text, children = "Copy" }: { readonly text: string; readonly children?: string }) {
  const said = useSignal<string | null>(null);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      said.value = "Copied";
    } catch {
      said.value = "The browser does not permit copying";
    }
    setTimeout(() => (said.value = null), SHOWN_MS);
  };
  return (
    <button type="button" onClick={() => void copy()}>
      <span aria-live="polite">{said.value ?? children}</span>
    </button>
  );
}
