import { Problem } from "../errors.ts";

/** Returns the problem of a path that names a task which does not exist. It does not show which tasks exist. */
export function noSuchTask(): Problem {
  return new Problem("not_found", "the container has no task with this name", {
    hint: "GET /api/tasks/{container} lists the tasks, and PUT /api/tasks/{container}/{name} makes a task. To run code of a request, send it to /api/run/{container}.",
  });
}

export function noSuchVersion(): Problem {
  return new Problem("not_found", "the task has no such version, or it was deleted", {
    hint: "GET /api/tasks/{container}/{name}/versions lists the versions.",
  });
}
