import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { noticeRefusal } from "./session.ts";

/** What a page reads from the service. */
export interface Loaded<T> {
  readonly value: T | null;
  readonly error: Error | null;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

interface State<T> {
  value: T | null;
  error: Error | null;
  isLoading: boolean;
}

/**
 * Reads from the service when the page opens, when `keys` change, on `reload`, and every `everyMs` while the tab is visible. A
 * value stays while the next one is read, and while the service is gone.
 */
export function useLoad<T>(
  read: (signal: AbortSignal) => Promise<T>,
  keys: readonly unknown[],
  everyMs: number | null = null,
): Loaded<T> {
  const state: Signal<State<T>> = useSignal<State<T>>({ value: null, error: null, isLoading: true });
  const turn = useSignal(0);
  useEffect(() => {
    state.value = { value: null, error: null, isLoading: true };
  }, keys);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = async (): Promise<void> => {
      if (document.visibilityState === "visible" || state.peek().value === null) await once();
      if (everyMs !== null && !stop.signal.aborted) timer = setTimeout(() => void load(), everyMs);
    };
    const once = async (): Promise<void> => {
      try {
        const value = await read(stop.signal);
        if (!stop.signal.aborted) state.value = { value, error: null, isLoading: false };
      } catch (error) {
        if (stop.signal.aborted) return;
        noticeRefusal(error);
        state.value = { value: state.peek().value, error: error as Error, isLoading: false };
      }
    };
    void load();
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [...keys, turn.value]);
  return { ...state.value, reload: () => turn.value++ };
}
