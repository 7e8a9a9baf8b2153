import { computed, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

/** A destructive act that waits for its confirmation. */
interface Question {
  readonly title: string;
  /** What the act destroys. */
  readonly destroys: string;
  /** The text of the button that does it. */
  readonly act: string;
  readonly answer: (isConfirmed: boolean) => void;
}

const question = signal<Question | null>(null);

/** Whether a question waits for its answer. */
export const isAsking = computed(() => question.value !== null);

/** Asks before a destructive act. @returns whether the reader confirms it */
export function confirm(title: string, destroys: string, act: string): Promise<boolean> {
  return new Promise((answer) => (question.value = { title, destroys, act, answer }));
}

/** The dialog of `confirm`. It stands once in the frame. */
export function ConfirmDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const asked = question.value;
  useEffect(() => {
    if (asked !== null) dialog.current?.showModal();
  }, [asked]);
  if (asked === null) return null;
  const close = (isConfirmed: boolean): void => {
    // Gives the focus back to the button that has opened the dialog.
    dialog.current?.close();
    question.value = null;
    asked.answer(isConfirmed);
  };
  return (
    <dialog ref={dialog} aria-labelledby="confirm-title" onCancel={() => close(false)}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          close(true);
        }}
      >
        <h2 id="confirm-title">{asked.title}</h2>
        <p>{asked.destroys}</p>
        <div class="actions">
          <button type="submit" class="danger">
            {asked.act}
          </button>
          <button type="button" autofocus onClick={() => close(false)}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}
