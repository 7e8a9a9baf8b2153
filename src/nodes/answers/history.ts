import { HISTORIES, type History } from "../../records/records.ts";

/** Returns where an answer comes from of which one part has the least history. */
export function worstHistory(parts: readonly { readonly history: History }[]): History {
  return HISTORIES[Math.max(...parts.map(({ history }) => HISTORIES.indexOf(history)))]!;
}
