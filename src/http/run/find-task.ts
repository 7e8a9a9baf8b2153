import { Problem } from "../../errors.ts";
import type { LimitSubject } from "../../limits/limit-subject.ts";
import { noSuchTask } from "../../tasks/not-found.ts";
import type { Task } from "../../tasks/task.ts";
import type { Tasks } from "../../tasks/tasks.ts";
import { isRunId } from "../../telemetry/run-ids.ts";
import type { Caller } from "../../tokens/caller.ts";
import { permitsVerb } from "../../tokens/claims.ts";
import type { Verifier } from "../../tokens/verify.ts";
import { decode, isName } from "../target.ts";

const OF_RUN = "This is the id of a run: GET /api/runs/{container}/{run} returns its record.";

/** What the path of a run names, before it is decoded. */
export interface RunTarget {
  readonly container: string;
  /** The name of a task, or null when the request supplies the code. */
  readonly task: string | null;
  /** Whether the answer is the record of the run. */
  readonly isRecorded: boolean;
  /** Whether a tool starts the run, so that the headers of the request are not for the task. */
  readonly isOfTool?: boolean;
}

/** Finds the task that a path names. @returns null when there is none, or when no task can have that name. */
export async function findTask(tasks: Tasks, { container, task }: RunTarget): Promise<Task | null> {
  const [inContainer, name] = [decode(container), decode(task ?? "")];
  if (inContainer === null || name === null || !isName(inContainer) || !isName(name)) return null;
  return await tasks.find(inContainer, name);
}

/** Returns the task that the name of a path probably means, or null. Only a token that may list the tasks learns that. */
export async function taskMeant(
  tasks: Pick<Tasks, "near">,
  bearer: Caller | null,
  container: string,
  segment: string,
): Promise<string | null> {
  const name = decode(segment);
  if (bearer === null || name === null || !isName(name) || !permitsVerb(bearer.claims, "tasks")) return null;
  return await tasks.near({ container, name });
}

/** Whether the task that a path names will be published when its packages are built. */
export function isBuilding(tasks: Tasks, { container, task }: RunTarget): boolean {
  return task !== null && tasks.isBuilding({ container: decode(container) ?? "", name: decode(task) ?? "" });
}

/**
 * Requires a task that can run. Call it after the authorization: only a token that may run code in the container learns
 * whether the task exists.
 *
 * @param bearer the token of the request, or null for a public task.
 * @param target the path, which has the name of the task
 * @param near the task that a name without a task probably means, if the caller may list the tasks
 * @throws {Problem} `not_found`, `code_pinned`, `token_invalid`
 */
export function mustBeRunnable(
  task: Task | null,
  bearer: Caller | null,
  verifier: Verifier,
  { task: name, isRecorded }: Pick<RunTarget, "task" | "isRecorded"> = { task: null, isRecorded: false },
  near: string | null = null,
): Task {
  if (!task && name === "" && isRecorded) {
    throw new Problem("not_found", "the parameter task is empty; it must have the name of a task", {
      hint: "Leave task out to run the code of the request.",
    });
  }
  if (!task && name === "") {
    throw new Problem("not_found", "the path ends with a slash, after which the name of a task is missing", {
      hint: "Leave the slash out to run the code of the request.",
    });
  }
  if (!task) throw noSuchTask(near, isRunId(name ?? "") ? OF_RUN : undefined);
  if (bearer?.claims.code) {
    throw new Problem("code_pinned", "the token runs only its own code, and the path names a task", {
      hint: "Leave the name of the task out, or use a token that is not pinned.",
    });
  }
  mustNotHaveEnded(task, verifier);
  return task;
}

/** @throws {Problem} `token_invalid` when the token of the task has ended, or one above it. */
export function mustNotHaveEnded({ caller }: Task, verifier: Verifier): void {
  const state = verifier.stateOf(caller);
  if (state === "valid") return;
  const problem = verifier.problem(state, caller);
  throw new Problem("token_invalid", `the task has ended: for the token that it runs under, ${problem.message}`, {
    hint: "A token with the verb tasks can PUT the task again.",
    cause: problem,
  });
}

/** A run of a task counts against the task's token, the token of the request, and all tokens above these two. */
export async function subjectOfTask({ caller }: Task, bearer: Caller | null): Promise<LimitSubject> {
  const own = await caller.limitSubject();
  return bearer === null ? own : (await bearer.limitSubject()).ofTask(own);
}
