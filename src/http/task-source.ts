import { type Code, codeOf } from "../containers/guest/code-table.ts";
import type { Artefact } from "../packages/model.ts";
import { withoutPreamble } from "../source/text.ts";
import type { TaskCode } from "../tasks/task-code.ts";

const read = new WeakMap<TaskCode, Code>();

/**
 * Returns the code of a task as guests receive it. The result is kept as long as the task's code is in memory: the key of
 * long code is a digest, which would otherwise be computed at each run.
 */
export function sourceOfTask(stored: TaskCode, packages: Artefact | null = null): Code {
  const known = read.get(stored);
  // The artefact may be another object with the same bytes, after it was read again.
  if (known && (known.packages?.key ?? null) === (packages?.key ?? null)) return known;
  const { code, typescript, modules } = stored;
  const source = codeOf({ source: withoutPreamble(Buffer.from(code)), typescript, modules, packages });
  read.set(stored, source);
  return source;
}
