import type { RunRecord } from "./record.ts";

/**
 * Returns the part of a record that a reader may see. The code of a named task and what its callers sent belong to its
 * owner, so a reader needs the verb `tasks` for them.
 *
 * @param seesTasks whether the reader has that verb
 */
export function visibleRecord(record: RunRecord, seesTasks: boolean): RunRecord {
  if (seesTasks) return record;
  const { input: _input, ...rest } = record;
  const { task, error } = record;
  if (task === null || !error?.at) return rest;
  return { ...rest, error: { ...error, at: { ...error.at, frame: null } } };
}
