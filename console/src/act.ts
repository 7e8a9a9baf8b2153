import { type Signal, useSignal } from "@preact/signals";

import { noticeRefusal } from "./session.ts";

/** A change that a reader asks for. */
export interface Act {
  readonly isBusy: boolean;
  readonly error: Error | null;
  /** What the last act did. */
  readonly done: string | null;
  /** Does one change at a time. @param work returns what it did, as a sentence, or null if it did nothing */
  readonly run: (work: () => Promise<string | null>) => Promise<void>;
}

interface State {
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly done: string | null;
}

export function useAct(): Act {
  const state: Signal<State> = useSignal<State>({ isBusy: false, error: null, done: null });
  const run: Act["run"] = async (work) => {
    if (state.peek().isBusy) return;
    state.value = { isBusy: true, error: null, done: null };
    try {
      state.value = { isBusy: false, error: null, done: await work() };
    } catch (error) {
      noticeRefusal(error);
      state.value = { isBusy: false, error: error as Error, done: null };
    }
  };
  return { ...state.value, run };
}
