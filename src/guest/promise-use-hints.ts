import type { FaultMessage } from "../wire/messages.ts";
import { usedPromiseText } from "../wire/unawaited-text.ts";
import type { Emptied } from "./emptied.ts";
import { linesOf } from "./error-lines.ts";
import { type PromiseUse, promiseUse } from "./promise-uses.ts";
import { escaped } from "./unawaited.ts";

/** Returns the hint for a result of code that uses a promise like its value. */
export function hintOfUse({ call, variable, member, isCondition }: PromiseUse): Emptied {
  if (isCondition && variable === null) return { hint: "truthyPromise", path: `.${call}` };
  if (member === null) return { hint: "usedPromise", path: `.${call}` };
  return variable === null
    ? { hint: "unawaitedCall", path: `.${member}.${call}` }
    : { hint: "unawaited", path: `.${variable}.${member}.${call}` };
}

/** Returns the hint for an error of code that uses a promise like its value in that line, or in a condition just before it. Never throws. */
export function promiseUseHint(text: string, fault: FaultMessage): string | undefined {
  try {
    const lines = fault.code === "task_threw" ? linesOf(text, fault) : "";
    const use = lines === "" ? null : promiseUse(text);
    if (!use) return undefined;
    const { call, variable, member } = use;
    const name = escaped(variable ?? call).replaceAll(".", String.raw`\s*\.\s*`);
    const isNear = new RegExp(String.raw`(?<![\w$.])${name}(?![\w$])`).test(lines);
    return isNear ? usedPromiseText(call, variable, member) : undefined;
  } catch {
    // A task has replaced a method of texts or patterns.
    return undefined;
  }
}
