import type { Problem } from "../errors.ts";
import { quotaExceeded } from "../tokens/family-quota.ts";
import type { PutOutcome, TaskRoom } from "./store.ts";

/** Returns the problem for a task that does not fit. */
export function full(exceeded: Exclude<PutOutcome, "stored" | "changed">, room: TaskRoom): Problem {
  if (exceeded === "containerTasks") {
    return quotaExceeded(
      `the container has ${room.containerTasks} named tasks, which is the maximum`,
      "Delete a task that is not needed; the operator sets the maximum with --container-tasks.",
    );
  }
  if (exceeded === "familyTasks") {
    return quotaExceeded(
      `the token family has ${room.familyTasks} named tasks in all containers, which is the maximum`,
      "Delete a task that is not needed; the operator sets the maximum with --family-tasks.",
    );
  }
  return quotaExceeded(
    `the named tasks of the token family may have ${room.familyBytes} bytes with their versions, and this task would exceed that`,
    "Delete a task, or delete this task and put it again, which drops its earlier versions; the operator sets the maximum " +
      "with --family-task-bytes.",
  );
}
