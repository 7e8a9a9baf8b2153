import type { ComponentChildren } from "preact";

import type { Loaded } from "../load.ts";
import { ErrorNote } from "./error-note.tsx";

interface ContentProps<T> {
  readonly of: Loaded<T>;
  readonly children: (value: T) => ComponentChildren;
}

/** What a page has read: the value, with a note above it while the service does not answer. */
export function Content<T>({ of, children }: ContentProps<T>) {
  return (
    <>
      {of.error !== null && <ErrorNote error={of.error} onRetry={of.reload} />}
      {of.value !== null && children(of.value)}
      {of.value === null && of.isLoading && (
        <p class="quiet" role="status">
          Loading...
        </p>
      )}
    </>
  );
}
