import type { RunRecord } from "../../records/record.ts";
import type { Task } from "../../tasks/task.ts";
import type { Caller } from "../../tokens/caller.ts";
import { permitsVerb } from "../../tokens/claims.ts";
import { hideError, hidesFaults } from "./hide-fault.ts";

/** What the caller of a run may see of its record. */
export interface RecordView {
  /** The console, and the stack of an error. */
  readonly console: boolean;
  /** The lines of code around an error. */
  readonly frame: boolean;
  /** The name and the message of an error of the task. */
  readonly message: boolean;
}

/**
 * A caller that sent the code in this request sees everything. Other callers see the console with the verb `logs`, and the
 * code of a task with `tasks` in addition.
 *
 * @param task the named task of the run, or null
 * @param bearer the token of the request, or null
 */
export function viewOf(task: Task | null, bearer: Caller | null): RecordView {
  if (task === null && bearer?.claims.code?.url === undefined) return { console: true, frame: true, message: true };
  if (bearer === null) return { console: false, frame: false, message: !hidesFaults(task, bearer) };
  const console = permitsVerb(bearer.claims, "logs");
  return { console, frame: console && permitsVerb(bearer.claims, "tasks"), message: true };
}

/** A record as a caller sees it. */
export type VisibleRecord = Omit<RunRecord, "console"> & {
  /** Null if the caller may not see it. */
  readonly console: RunRecord["console"] | null;
};

/** Returns the members of a record that the caller may see. */
export function visiblePart({ console, error, input, ...rest }: RunRecord, view: RecordView): VisibleRecord {
  const shown = error && (view.message ? error : hideError(error));
  return {
    ...rest,
    console: view.console ? console : null,
    error: shown && {
      ...shown,
      stack: view.console ? shown.stack : null,
      at: shown.at && { ...shown.at, frame: view.frame ? shown.at.frame : null },
    },
    ...(!view.message && { hint: null }),
    ...(view.frame && input !== undefined && { input }),
  };
}
