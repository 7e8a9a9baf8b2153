import { type Code, codeOf } from "../containers/guest/code-table.ts";
import { withoutPreamble } from "../source/text.ts";
import type { TaskCode } from "../tasks/task-code.ts";

const read = new WeakMap<TaskCode, Code>();

/**
 * Returns the code of a task as guests receive it. The result is kept as long as the task's code is in memory: the key of
 * long code is a digest, which would otherwise be computed at each run.
 */
export function sourceOfTask(stored: TaskCode): Code {
  const known = read.get(stored);
  if (known) return known;
  const { code, typescript, modules } = stored;
  const source = codeOf({ source: withoutPreamble(Buffer.from(code)), typescript, modules });
  read.set(stored, source);
  return source;
}
