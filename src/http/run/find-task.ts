import { Problem } from "../../errors.ts";
import type { LimitSubject } from "../../limits/limit-subject.ts";
import type { Task } from "../../tasks/task.ts";
import type { Tasks } from "../../tasks/tasks.ts";
import type { Caller } from "../../tokens/caller.ts";
import type { Verifier } from "../../tokens/verify.ts";
import { decode, isName } from "../target.ts";

/** What the path of a run names, as it came. */
export interface RunTarget {
  readonly container: string;
  /** Of a named task, or null where code is brought. */
  readonly task: string | null;
}

/** The task that a path names, or null: also where no task could be of that name. */
export async function findTask(tasks: Tasks, { container, task }: RunTarget): Promise<Task | null> {
  const [inContainer, name] = [decode(container), decode(task ?? "")];
  if (inContainer === null || name === null || !isName(inContainer) || !isName(name)) return null;
  return await tasks.find(inContainer, name);
}

/**
 * Called when it is known that who asks may run code in the container: only they are told whether there is such a task.
 *
 * @param bearer the token that asks, or null for a public task.
 * @throws {Problem} `not_found`, `code_pinned`, `token_invalid`
 */
export function mustBeRunnable(task: Task | null, bearer: Caller | null, verifier: Verifier): Task {
  if (!task) throw new Problem("not_found", "there is no task of that name in the container");
  if (bearer?.claims.code) {
    throw new Problem("code_pinned", "the token runs only its own code, and the path names other", {
      hint: "Ask without the name of a task, or with a token that is not pinned.",
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
  throw new Problem("token_invalid", `the task has ended: of what it runs under, ${problem.message}`, {
    hint: "Who keeps the task can put it anew.",
    cause: problem,
  });
}

/** A run of a task counts against the task's token and all above it, and against the token that asks and all above that. */
export async function subjectOfTask({ caller }: Task, bearer: Caller | null): Promise<LimitSubject> {
  const own = await caller.limitSubject();
  return bearer === null ? own : (await bearer.limitSubject()).ofTask(own);
}
