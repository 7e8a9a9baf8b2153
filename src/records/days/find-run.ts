import type { RunEntry } from "../record.ts";
import { isPassing } from "../sqlite-fault.ts";
import type { DayFolder } from "./day-folder.ts";
import { DayReader } from "./day-reader.ts";
import { nameOf } from "./day.ts";
import { recordOf } from "./stored-row.ts";
import type { Reply } from "./thread-messages.ts";

/** Returns the record and the lineage of a run as JSON, or `null`. Looks through all days, because its id names none. */
export function findRun(folder: DayFolder, container: string, run: string): Reply {
  const unreadable: string[] = [];
  for (const day of folder.days()) {
    let file: DayReader | null = null;
    try {
      file = DayReader.open(folder.pathOf(day));
      const found = file?.find(container, run);
      if (!found) continue;
      const record = recordOf(JSON.parse(found.entry) as RunEntry, found.detail);
      return { json: JSON.stringify({ record, lineage: JSON.parse(found.lineage) as string[] }), unreadable };
    } catch (error) {
      if (isPassing(error)) throw error;
      unreadable.push(nameOf(day));
    } finally {
      file?.close();
    }
  }
  return { json: "null", unreadable };
}
