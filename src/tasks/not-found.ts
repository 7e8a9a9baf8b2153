import { Problem } from "../errors.ts";
import { nearest } from "../nearest.ts";
import type { TaskStore } from "./store.ts";

/** The names that are compared with a wrong name, so that a request with one takes no time. */
const MAX_COMPARED = 200;

/**
 * Returns the problem of a path that names a task which does not exist.
 *
 * @param near the task that the name probably means, for callers that may list the tasks; otherwise null
 * @param other what the name is instead of the name of a task, as a hint
 */
export function noSuchTask(near: string | null, other: string = NO_TASK): Problem {
  const hint = near === null ? other : `Did you mean ${near}? GET /api/tasks/{container} lists the tasks.`;
  return new Problem("not_found", "the container has no task with this name", { hint });
}

/** Returns the name of the container's task that a wrong name probably means, or null. Only for callers that may list the tasks. */
export async function nearTask(
  store: Pick<TaskStore, "names">,
  container: string,
  name: string,
): Promise<string | null> {
  return nearest(name, await store.names(container, MAX_COMPARED));
}

const NO_TASK =
  "GET /api/tasks/{container} lists the tasks, and PUT /api/tasks/{container}/{name} makes a task. To run code of a request, send it to /api/run/{container}.";

export function noSuchVersion(): Problem {
  return new Problem("not_found", "the task has no such version, or it was deleted", {
    hint: "GET /api/tasks/{container}/{name}/versions lists the versions.",
  });
}
