import { createHash } from "node:crypto";

import type { MemberFault } from "../members.ts";
import { nextTurn } from "../next-turn.ts";
import type { TaskChange } from "./definition.ts";
import { bytesOfCode, packed, type TaskCode } from "./task-code.ts";
import type { ReadTask, TaskMembers } from "./task-request.ts";
import type { Task } from "./task.ts";

/**
 * Completes a request by the code of the active task: the request may name only some of the members that make up code.
 *
 * @param codeOf reads the code of the active task
 * @param codeLimit the maximum number of bytes of a task's code
 * @param holder the `holder` argument of `nextTurn`
 */
export async function codeOfChange(
  { members, faults }: ReadTask,
  active: Task | null,
  codeOf: (task: Task) => Promise<TaskCode>,
  codeLimit: number,
  holder: string,
): Promise<TaskChange> {
  const { code: text, modules, typescript, ...others } = members;
  const isFaulty = faults.some(({ member }) => member === "code" || member === "url");
  const before = members.url === undefined && !isFaulty && active?.inline ? await codeOf(active) : null;
  const base = text === undefined ? before : { modules: null, typescript: false, ...before, code: text };
  if (base === null) {
    const more = modules || typescript ? [...faults, ...ofNoCode(members)] : faults;
    return { ...others, code: null, sha256Of: null, faults: more };
  }
  const code: TaskCode = {
    code: base.code,
    modules: (modules === undefined ? base.modules : nonEmpty(modules)) ?? null,
    typescript: typescript ?? base.typescript,
  };
  // A megabyte is packed, digested and compared in milliseconds.
  await nextTurn(holder);
  const sha256Of = createHash("sha256").update(packed(code)).digest("hex");
  return { ...others, code, sha256Of, faults: [...faults, ...faultsOfSize(code, codeLimit)] };
}

function* faultsOfSize(code: TaskCode, codeLimit: number): Generator<MemberFault> {
  const bytes = bytesOfCode(code);
  // Of a text alone the request has the fault.
  if (code.modules === null || bytes <= codeLimit) return;
  yield { member: "modules", detail: `have ${bytes} bytes with the code; at most ${codeLimit} are allowed` };
}

function nonEmpty(modules: TaskMembers["modules"]): TaskMembers["modules"] {
  return modules && Object.keys(modules).length > 0 ? modules : null;
}

/** Returns the faults of members that describe code, of a task that has none. */
function ofNoCode({ modules, typescript, url }: TaskMembers): MemberFault[] {
  const detail = "belongs to code in the task, and the task has none";
  const faults: MemberFault[] = [];
  // For modules together with url, the request has the fault.
  if (modules && url === undefined) faults.push({ member: "modules", detail: detail.replace("belongs", "belong") });
  if (typescript) faults.push({ member: "typescript", detail });
  return faults;
}
