import type { FaultMessage } from "../wire/messages.ts";
import { absentHint } from "./absent-hints.ts";
import { assignmentHint } from "./assignment-hints.ts";
import { callHint } from "./call-hints.ts";
import { contextHint } from "./context-hints.ts";
import { dashedMemberHint } from "./dashed-member.ts";
import { honoHint } from "./hono-hints.ts";
import { listHint } from "./list-hints.ts";
import { misreadHint } from "./misread-hints.ts";
import { promiseHint } from "./promise-hints.ts";
import { promiseUseHint } from "./promise-use-hints.ts";
import { quotedHint } from "./quoted-template.ts";
import type { Run } from "./run.ts";
import type { Shape } from "./shapes/shape.ts";
import { sourceHint } from "./source-hints.ts";
import { stdinHint } from "./stdin-hints.ts";
import { fileNameHint } from "./syntax-hints.ts";
import { textBodyHint } from "./text-body.ts";
import { thisHint } from "./this-hints.ts";
import { typeImportHint } from "./type-imports.ts";

/**
 * Returns what the author of code should do about an error. The first hint that applies is the most specific.
 *
 * @param main the code, as its author wrote it
 * @param located the fault with its position in that text
 * @param shape null if the code has no shape yet
 */
export function hintOfFault(
  main: string,
  fault: FaultMessage,
  located: FaultMessage,
  run: Run,
  shape: Pick<Shape, "hintOf"> | null,
): string | undefined {
  return (
    textBodyHint(main, located, run) ??
    absentHint(main, located, run) ??
    promiseHint(main, located) ??
    stdinHint(main, fault) ??
    typeImportHint(main, fault) ??
    misreadHint(main, fault) ??
    promiseUseHint(main, located) ??
    listHint(main, located, run) ??
    callHint(main, fault) ??
    honoHint(main, fault) ??
    thisHint(main, located) ??
    dashedMemberHint(main, located, run) ??
    quotedHint(main, fault) ??
    assignmentHint(main, located) ??
    fault.hint ??
    shape?.hintOf?.(fault) ??
    contextHint(main, fault) ??
    fileNameHint(main) ??
    sourceHint(main, located, run)
  );
}
