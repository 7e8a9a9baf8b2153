import path from "node:path";

import { type Caisson, CaissonError, type Task } from "../../../client/src/index.ts";
import { exitOf, EXITS } from "../exits.ts";
import { errorLines } from "../fail.ts";
import { say } from "../print/say.ts";
import type { Step } from "./plan.ts";
import { unsentHint } from "./source.ts";

/** What became of a task, as `--json` prints it. */
export interface Applied {
  readonly name: string;
  readonly action: "create" | "change" | "keep" | "delete";
  readonly changes: readonly string[];
  /** The version in force; null if there is none, or if the deployment failed. */
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
      say(
        `${wanted.name} (${wanted.file}) was not deployed:`,
        ...errorLines(explained(error, wanted)).map((line) => `  ${line}`),
      );
    }
  }
  return { applied, exitCode };
}

/** Returns the error, with what to do about an import whose file is not sent, and about a file that is perhaps no task. */
export function explained(error: unknown, { source, file }: Step["wanted"]): unknown {
  if (!(error instanceof CaissonError)) return error;
  const { code, detail, status } = error;
  const hint = unsentHint(detail, source.unsent) ?? (OF_HELPER.test(detail) ? helperHint(file, error.hint) : null);
  if (hint === null) return error;
  return new CaissonError({ code, detail, hint, status, cause: error });
}

/** The fault of a file that only other files import. */
const OF_HELPER = /^the code exports names, and no default/;

function helperHint(file: string, hint: string | null): string {
  const { dir, base } = path.parse(file);
  const moved = path.join(dir, "lib", base);
  return `If ${base} is no task, and tasks import it, move it into a folder, such as ${moved}. ${hint ?? ""}`.trimEnd();
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
