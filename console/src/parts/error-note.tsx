import { CaissonError } from "@caisson/client";

/** What went wrong with a request, and what to do. */
export function ErrorNote({ error, onRetry }: { readonly error: Error; readonly onRetry?: () => void }) {
  const problem = error instanceof CaissonError ? error : null;
  return (
    <div class="refusal" role="alert">
      <p>
        {sentence(error)}
        {problem?.hint && <span class="quiet"> {problem.hint}</span>}
      </p>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Returns the text of an error for a reader. */
export function sentence(error: Error): string {
  return error instanceof CaissonError ? error.detail : error.message;
}
