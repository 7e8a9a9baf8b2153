import { Problem } from "../errors.ts";
import { Multiset } from "./multiset.ts";

/** A family may hold this many times the places that are left. Alone, that is three quarters of all places. */
const TIMES_OF_REST = 3;
/** A container is shared for this time after a run of another family was requested in it. */
const SHARED_MS = 3_600_000;
/** Most runs end within milliseconds, but the service cannot predict when the next run ends. */
const RETRY_MS = 1_000;
/** The families without runs that are kept. V8 copies a Map that is filled and emptied with each request again and again. */
const MOST_IDLE = 64;

interface FamilyUse {
  runs: number;
  /** The number of runs in each guest. */
  readonly runsIn: Multiset<object>;
}

/**
 * Counts runs in flight and the guests that they occupy, by token family. Families share the places of a container, and callers of other
 * families share a part of the places of the token that owns a task. No family takes them all, so that places are always left for
 * further families.
 */
export class FamilyRuns {
  #runs = 0;
  #idle = 0;
  readonly #byFamily = new Map<string, FamilyUse>();
  /** The number of runs in each guest. */
  readonly #runsIn = new Multiset<object>();

  get runs(): number {
    return this.#runs;
  }

  /** The number of guests that the runs occupy. */
  get guests(): number {
    return this.#runsIn.size;
  }

  /**
   * @param subject what has the places, for the message
   * @param left the number of places that are left for all
   * @throws {Problem} `container_busy` if the family holds too large a part of the places
   */
  admitRun(subject: string, left: number, family: string): void {
    const own = this.#byFamily.get(family)?.runs ?? 0;
    if (own >= TIMES_OF_REST * left) throw familyProblem(subject, own, left, "runs in flight");
  }

  /**
   * @param left the number of guests that are left for all
   * @param guest the guest that would get the run; null for a new guest
   * @throws {Problem} `container_busy` if the family's runs occupy too large a part of the guests
   */
  admitGuest(subject: string, left: number, family: string, guest: object | null): void {
    const runsIn = this.#byFamily.get(family)?.runsIn;
    if (guest !== null && runsIn?.has(guest)) return;
    const own = runsIn?.size ?? 0;
    if (own >= TIMES_OF_REST * left) throw familyProblem(subject, own, left, "guests at work");
  }

  /** Counts a run in a guest. */
  add(family: string, guest: object): void {
    let use = this.#byFamily.get(family);
    if (!use) this.#byFamily.set(family, (use = { runs: 0, runsIn: new Multiset() }));
    else if (use.runs === 0) this.#idle--;
    use.runs++;
    use.runsIn.add(guest);
    this.#runsIn.add(guest);
    this.#runs++;
  }

  /** Reverses one `add` with the same arguments. */
  remove(family: string, guest: object): void {
    const use = this.#byFamily.get(family)!;
    use.runs--;
    use.runsIn.remove(guest);
    this.#runsIn.remove(guest);
    this.#runs--;
    if (use.runs === 0 && ++this.#idle > MOST_IDLE) this.#forgetIdle();
  }

  #forgetIdle(): void {
    for (const [family, { runs }] of this.#byFamily) if (runs === 0) this.#byFamily.delete(family);
    this.#idle = 0;
  }
}

/** Remembers whether more than one caller has lately requested runs: a token family, or the site of a client without a token. */
export class RecentCallers {
  #last: string | null = null;
  /** When a caller other than the last one requested its last run. */
  #otherMs = -Infinity;
  #lastMs = -Infinity;

  /** Notes a request. @returns whether another caller has requested a run within the last hour */
  asked(caller: string, nowMs: number): boolean {
    if (caller !== this.#last) {
      if (this.#last !== null) this.#otherMs = this.#lastMs;
      this.#last = caller;
    }
    this.#lastMs = nowMs;
    return nowMs - this.#otherMs < SHARED_MS;
  }
}

function familyProblem(subject: string, own: number, left: number, what: string): Problem {
  const message = `your token and its relatives have ${own} ${what} in ${subject}, and ${left} are left for all others`;
  return new Problem("container_busy", message, {
    retryAfterMs: RETRY_MS,
    hint: "Callers of other token families share these places. Wait until an earlier run has ended.",
  });
}
