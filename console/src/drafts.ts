import { tabStorage } from "./tab-storage.ts";

const KEY = "caisson.drafts";

/** What the reader has typed on a page and not saved. It lasts as long as the tab, and ends when the reader signs out. */
export function draftOf(place: string): object | null {
  return readAll()[place] ?? null;
}

/** @param draft null if there is nothing more to keep */
export function keepDraft(place: string, draft: object | null): void {
  const { [place]: _, ...others } = readAll();
  try {
    tabStorage.setItem(KEY, JSON.stringify(draft === null ? others : { ...others, [place]: draft }));
  } catch {
    // The storage of the tab is full. The page still has the draft.
  }
}

export function forgetDrafts(): void {
  tabStorage.removeItem(KEY);
}

function readAll(): Readonly<Record<string, object>> {
  return JSON.parse(tabStorage.getItem(KEY) ?? "{}") as Record<string, object>;
}
