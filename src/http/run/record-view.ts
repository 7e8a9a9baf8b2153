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
  /** The node, what the run used and printed, and the limits of the tokens that it counted for. */
  readonly use: boolean;
}

/**
 * A caller that sent the code in this request sees everything. Other callers see the console with the verb `logs`, and the
 * code of a task with `tasks` in addition.
 *
 * @param task the named task of the run, or null
 * @param bearer the token of the request, or null
 */
export function viewOf(task: Task | null, bearer: Caller | null): RecordView {
  if (task === null && bearer?.claims.code?.url === undefined)
    return { console: true, frame: true, message: true, use: true };
  if (bearer === null) return { console: false, frame: false, message: !hidesFaults(task, bearer), use: false };
  const console = permitsVerb(bearer.claims, "logs");
  return { console, frame: console && permitsVerb(bearer.claims, "tasks"), message: true, use: true };
}

/** A record as a caller sees it. */
export type VisibleRecord = {
  /** Null if the caller may not see it. */
  readonly [Name in keyof RunRecord]: RunRecord[Name] | (Name extends Hidden ? null : never);
};

type Hidden = "console" | keyof typeof NO_USE;

/** What a client without a token does not learn: it is about the machine and the tokens of the task's owner. */
const NO_USE = { node: null, dropped: null, guest: null, egress: null, limits: null } as const;

/** Returns the members of a record that the caller may see. */
export function visiblePart({ console, error, input, packages, ...rest }: RunRecord, view: RecordView): VisibleRecord {
  const shown = error && (view.message ? error : hideError(error));
  return {
    ...rest,
    ...(!view.use && NO_USE),
    console: view.console ? console : null,
    error: shown && {
      ...shown,
      stack: view.console ? shown.stack : null,
      at: shown.at && { ...shown.at, frame: view.frame ? shown.at.frame : null },
    },
    ...(!view.message && { hint: null }),
    ...(view.use && packages !== undefined && { packages }),
    ...(view.frame && input !== undefined && { input }),
  };
}
