import type { Problem } from "../errors.ts";
import { quotaExceeded } from "../tokens/family-quota.ts";
import type { PutOutcome, TaskRoom } from "./store.ts";

/** The answer to a task for which there is no room. */
export function full(what: Exclude<PutOutcome, "kept" | "changed">, room: TaskRoom): Problem {
  if (what === "containerTasks") {
    return quotaExceeded(
      `the container has ${room.containerTasks} named tasks, and may have no more`,
      "Delete one that is not needed; the operator sets how many there may be with --container-tasks.",
    );
  }
  if (what === "familyTasks") {
    return quotaExceeded(
      `the family of the token has ${room.familyTasks} named tasks in all containers, and may have no more`,
      "Delete one that is not needed; the operator sets how many there may be with --family-tasks.",
    );
  }
  return quotaExceeded(
    `the named tasks of the token's family may have ${room.familyBytes} bytes with their versions, and these would be more`,
    "Delete a task, or delete this one and put it again, which drops its earlier versions; the operator sets how many bytes " +
      "there may be with --family-task-bytes.",
  );
}
