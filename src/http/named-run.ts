import { Problem } from "../errors.ts";
import type { LimitSubject } from "../limits/limit-subject.ts";
import type { Task } from "../tasks/task.ts";
import type { Tasks } from "../tasks/tasks.ts";
import type { Claims } from "../tokens/claims.ts";
import type { TokenRegister } from "../tokens/register.ts";
import type { Verifier } from "../tokens/verify.ts";
import { holderOf } from "./holder.ts";
import { decode, isName } from "./target.ts";

/** What the path of a run names, as it came. */
export interface RunPlace {
  readonly container: string;
  /** Of a named task, or null where code is brought. */
  readonly task: string | null;
}

/** The task that a path names, or null: also where no task could be of that name. */
export async function findTask(tasks: Tasks, { container, task }: RunPlace): Promise<Task | null> {
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
export function mustBeRunnable(task: Task | null, bearer: Claims | null, verifier: Verifier): Task {
  if (!task) throw new Problem("not_found", "there is no task of that name in the container");
  if (bearer?.code) {
    throw new Problem("code_pinned", "the token runs only its own code, and the path names other", {
      hint: "Ask without the name of a task, or with a token that is not pinned.",
    });
  }
  mustNotHaveEnded(task, verifier);
  return task;
}

/** @throws {Problem} `token_invalid` when the token of the task has ended, or one above it. */
export function mustNotHaveEnded({ claims }: Task, verifier: Verifier): void {
  try {
    verifier.mustNotHaveEnded(claims);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "token_invalid") throw error;
    throw new Problem("token_invalid", `the task has ended: of what it runs under, ${error.message}`, {
      hint: "Who keeps the task can put it anew.",
      cause: error,
    });
  }
}

/** A run of a task counts against the task's token and all above it, and against the token that asks and all above that. */
export async function holderOfTask(
  { claims }: Task,
  bearer: Claims | null,
  registry: TokenRegister,
): Promise<LimitSubject> {
  const own = await holderOf(claims, registry);
  return bearer === null ? own : (await holderOf(bearer, registry)).ofTask(own);
}
