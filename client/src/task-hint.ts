import type { AnsweredRunRecord } from "./api-types.ts";
import type { Source } from "./run-request.ts";

/** Replaces the hint of a run whose code was a single name: the caller probably means the task of this name. */
export function withTaskHint(record: AnsweredRunRecord, container: string, source: Source): AnsweredRunRecord {
  if (typeof source !== "string" || !/^[a-z_][\w-]*$/i.test(source)) return record;
  // Something else than caisson may have answered.
  const { error } = (record as AnsweredRunRecord | null) ?? {};
  if (!error) return record;
  if (error.name !== "ReferenceError" && error.code !== "code_syntax") return record;
  const hint = `The code is only a name. To run a named task, write run(${JSON.stringify(container)}, { task: ${JSON.stringify(source)} }).`;
  return { ...record, error: { ...error, hint } };
}
