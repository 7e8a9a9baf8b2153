import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { Field } from "./field.tsx";

/** The time after the last key at which a filter applies: each change asks the service. */
const PAUSE_MS = 250;

interface FilterProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A field that narrows a list, when the reader pauses. */
export function Filter({ label, value, onChange }: FilterProps) {
  const typed = useSignal<string | null>(null);
  useEffect(() => {
    if (typed.value === null) return undefined;
    const text = typed.value;
    const timer = setTimeout(() => {
      typed.value = null;
      onChange(text.trim());
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed.value]);
  return <Field label={label} value={typed.value ?? value} onInput={(text) => (typed.value = text)} />;
}
