import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { noticeRefusal } from "./session.ts";

interface Page {
  readonly next: string | null;
}

interface State<Entry, P> {
  /** The page that was read last. */
  readonly page: P | null;
  readonly entries: readonly Entry[];
  readonly next: string | null;
  readonly error: Error | null;
  readonly isLoading: boolean;
}

/** A list that grows by a page when its end comes into view. */
export interface LoadedList<Entry, P = unknown> extends State<Entry, P> {
  readonly more: () => void;
  readonly reload: () => void;
}

/**
 * Reads a list page by page. An empty page may have a next one, so reading goes on until a page has entries.
 *
 * @param read reads the page of a cursor
 */
export function useList<Entry, P extends Page>(
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<P>,
  entriesOf: (page: P) => readonly Entry[],
  keys: readonly unknown[],
): LoadedList<Entry, P> {
  const state: Signal<State<Entry, P>> = useSignal<State<Entry, P>>(EMPTY);
  const turn = useSignal(0);
  const stop = useSignal(new AbortController());
  const load = async (from: State<Entry, P>): Promise<void> => {
    const { signal } = stop.peek();
    state.value = { ...from, isLoading: true, error: null };
    try {
      let { entries, next, page } = from;
      for (let before = entries.length; entries.length === before;) {
        page = await read(next ?? undefined, signal);
        if (signal.aborted) return;
        entries = [...entries, ...entriesOf(page)];
        next = page.next;
        if (next === null) break;
      }
      state.value = { page, entries, next, error: null, isLoading: false };
    } catch (error) {
      if (signal.aborted) return;
      noticeRefusal(error);
      state.value = { ...from, isLoading: false, error: error as Error };
    }
  };
  useEffect(() => {
    stop.value = new AbortController();
    void load(EMPTY);
    return () => stop.peek().abort();
  }, [...keys, turn.value]);
  return {
    ...state.value,
    more: () => {
      const now = state.peek();
      if (now.next !== null && !now.isLoading && now.error === null) void load(now);
    },
    reload: () => turn.value++,
  };
}

const EMPTY = { page: null, entries: [], next: null, error: null, isLoading: true };
