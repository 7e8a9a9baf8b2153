import type { Caisson, Task } from "../../../client/src/index.ts";
import { exitOf, EXITS } from "../exits.ts";
import { errorLines } from "../fail.ts";
import { say } from "../print/say.ts";
import type { Step } from "./plan.ts";

/** What became of a task, as `--json` prints it. */
export interface Applied {
  readonly name: string;
  readonly action: "create" | "change" | "keep" | "delete";
  readonly changes: readonly string[];
  /** The version in force; null if nothing was done, or if it failed. */
  readonly version: number | null;
  readonly error?: { readonly code: string; readonly detail: string };
}

export interface ApplyResult {
  readonly applied: readonly Applied[];
  readonly exitCode: number;
}

/** Carries out the steps one after the other. A step that fails does not stop the others. */
export async function apply(
  { caisson, url }: { readonly caisson: Caisson; readonly url: string },
  container: string,
  steps: readonly Step[],
): Promise<ApplyResult> {
  const applied: Applied[] = [];
  let exitCode: number = EXITS.ok;
  for (const step of steps) {
    const { wanted, present, changes } = step;
    const base = { name: wanted.name, action: actionOf(step), changes };
    if (changes.length === 0) {
      applied.push({ ...base, version: present!.version });
      continue;
    }
    try {
      const task = await put(caisson, container, step);
      applied.push({ ...base, version: task.version });
      say(`${wanted.name}: version ${task.version} is in force`);
      if (task.public) say(`  anyone may run it at ${addressOf(url, task)}`);
    } catch (error) {
      const { code = "error", detail = String(error) } = error as { code?: string; detail?: string };
      applied.push({ ...base, version: null, error: { code, detail } });
      exitCode ||= exitOf(error);
      say(`${wanted.name} (${wanted.file}) was not deployed:`, ...errorLines(error).map((line) => `  ${line}`));
    }
  }
  return { applied, exitCode };
}

export function actionOf({ present, changes }: Step): Applied["action"] {
  if (present === null) return "create";
  return changes.length === 0 ? "keep" : "change";
}

/** A task that another client has changed since the diff is not overwritten. */
function put(caisson: Caisson, container: string, { wanted, present, request }: Step): Promise<Task> {
  const condition = present === null ? { ifNoneMatch: "*" as const } : { ifMatch: present.etag };
  return caisson.tasks.put(container, wanted.name, request, condition);
}

function addressOf(url: string, { container, name }: Task): string {
  return `${url}/api/run/${encodeURIComponent(container)}/${encodeURIComponent(name)}`;
}
