import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: string;
  readonly pattern?: string;
  readonly isRequired?: boolean;
  readonly list?: readonly string[];
}

/** A labelled field for a text. */
export function Field({ label, value, onInput, hint, pattern, isRequired = false, list }: FieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        value={value}
        spellcheck={false}
        autocomplete="off"
        required={isRequired}
        {...(pattern === undefined ? {} : { pattern })}
        {...(hint === undefined ? {} : { "aria-describedby": `${id}-hint` })}
        list={list === undefined ? undefined : `${id}-list`}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {hint !== undefined && (
        <span id={`${id}-hint`} class="quiet small">
          {hint}
        </span>
      )}
      {list !== undefined && (
        <datalist id={`${id}-list`}>
          {list.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </div>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly choices: Readonly<Record<string, string>>;
  readonly onChange: (value: string) => void;
}

/** A labelled choice of one of several texts. */
export function Choice({ label, value, choices, onChange }: ChoiceProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {Object.entries(choices).map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

/** A labelled area for a text of several lines. */
export function Area({
  label,
  value,
  rows = 4,
  onInput,
  children,
}: {
  readonly label: string;
  readonly value: string;
  readonly rows?: number;
  readonly onInput: (value: string) => void;
  readonly children?: ComponentChildren;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={rows}
        spellcheck={false}
        class="mono"
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {children}
    </div>
  );
}
