/** A guest that owes an answer, and has received too little processor time to be judged. */
export interface Waiting {
  /** When the ping was sent. */
  readonly pingedMs: number;
  /** How long the guest has had turns. */
  readonly turnMs: number;
  readonly hasTurn: boolean;
}

/** The length of a turn. A guest that has not burned enough in it, perhaps because its own threads compete, goes back one turn. */
const TURN_MS = 500;

/**
 * Gives as many guests a turn as there are processors, the guest that has been silent for longest first. So however many
 * guests block at once, other guests compete with no more than these few. A guest that only computes for long ends its step
 * in its turn.
 *
 * @param sinceMs the time since turns were last assigned.
 * @returns the new state of each guest, in the order of `waiting`.
 */
export function giveTurns(waiting: readonly Waiting[], sinceMs: number, processors: number): Waiting[] {
  const next = waiting.map(({ pingedMs, turnMs, hasTurn }) => {
    return { pingedMs, turnMs: turnMs + (hasTurn ? sinceMs : 0), hasTurn: false };
  });
  const inOrder = next.toSorted((one, other) => orderOf(one) - orderOf(other));
  for (const first of inOrder.slice(0, processors)) first.hasTurn = true;
  return next;
}

function orderOf({ pingedMs, turnMs }: Waiting): number {
  return pingedMs + turnMs - (turnMs % TURN_MS);
}
