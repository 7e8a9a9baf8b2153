import { counter, type Family, histogram, type Labels } from "./family.ts";
import { Histogram } from "./histogram.ts";

/** An admitted run that has ended. Times are on the clock of `performance.now()`. */
export interface MeasuredRun {
  readonly container: string;
  readonly status: string;
  readonly error: { readonly code: string } | null;
  /** How the guest of the run was found; null if no guest received the run. */
  readonly start: string | null;
  readonly admission: { readonly nowMs: number };
  /** When the guest received the run; 0 if no guest received it. */
  readonly sentMs: number;
  readonly endedMs: number;
}

export interface RunMetricsOptions {
  /** Every status that a run can end with. */
  readonly outcomes: readonly string[];
  /** Every way in which the guest of a run is found. */
  readonly starts: readonly string[];
  /** Every code of an error. */
  readonly codes: readonly string[];
  /**
   * The containers that have series of their own. Callers choose the names of containers, so any other container is counted
   * without its name: a caller could otherwise create a series with each request.
   */
  readonly containers: readonly string[];
}

interface ContainerCounts {
  readonly outcomes: Counts;
  readonly duration: Histogram;
  readonly cpu: Histogram;
}

type Counts = Record<string, number>;

/** What the limiter may decide about a run: the last three are codes of errors. */
const DECISIONS = ["admitted", "container_limited", "token_limited", "store_unavailable"];

/** Counts runs. All counts begin at 0, because a rate misses the first increment of a series that appears with it. */
export class RunMetrics {
  readonly #outcomes: readonly string[];
  readonly #listed: ReadonlyMap<string, ContainerCounts>;
  readonly #others: ContainerCounts;
  readonly #starts: ReadonlyMap<string, Histogram>;
  readonly #errors: Counts;
  readonly #refusals: Counts;
  readonly #decisions: Counts = zeros(DECISIONS);
  readonly #store = new Histogram();

  constructor({ outcomes, starts, codes, containers }: RunMetricsOptions) {
    this.#outcomes = outcomes;
    this.#listed = new Map(containers.map((name) => [name, this.#emptyCounts()]));
    this.#others = this.#emptyCounts();
    this.#starts = new Map(starts.map((start) => [start, new Histogram()]));
    this.#errors = zeros(codes);
    this.#refusals = zeros(codes);
  }

  /** Counts a request that was refused before its run counted against a limit. */
  refused(code: string): void {
    this.#refusals[code]!++;
  }

  /** Counts a decision of the limiter. @param decision `admitted`, or the code of the error */
  decided(decision: string): void {
    this.#decisions[decision]!++;
  }

  /** @param milliseconds how long the store of the limits took for a decision, or until it failed */
  waitedForStore(milliseconds: number): void {
    this.#store.observe(milliseconds);
  }

  ended({ container, status, error, start, admission, sentMs, endedMs }: MeasuredRun): void {
    const counts = this.#countsOf(container);
    counts.outcomes[status]!++;
    if (error !== null) this.#errors[error.code]!++;
    if (sentMs === 0) return;
    counts.duration.observe(endedMs - sentMs);
    this.#starts.get(start!)?.observe(sentMs - admission.nowMs);
  }

  /** @param cpuMs the processor time of these runs of the container together */
  used(container: string, runs: number, cpuMs: number): void {
    this.#countsOf(container).cpu.observe(cpuMs / runs, runs);
  }

  *families(): Generator<Family> {
    const all: readonly (readonly [Labels, ContainerCounts])[] = [
      [{}, this.#others],
      ...[...this.#listed].map(([container, counts]) => [{ container }, counts] as const),
    ];
    yield counter(
      "caisson_runs_total",
      "Admitted runs that have ended, by outcome. The containers of --metrics-containers have a label.",
      all.flatMap(([labels, { outcomes }]) =>
        this.#outcomes.map((outcome) => [{ ...labels, outcome }, outcomes[outcome]!] as const),
      ),
    );
    yield counter(
      "caisson_run_errors_total",
      "Admitted runs that have ended with an error, by its code.",
      Object.entries(this.#errors).map(([code, count]) => [{ code }, count]),
    );
    yield histogram(
      "caisson_run_duration_seconds",
      "Time from the moment at which the guest received a run until the guest was done with it.",
      all.map(([labels, { duration }]) => [labels, duration]),
    );
    yield histogram(
      "caisson_run_cpu_seconds",
      "Estimated processor time of a run: that of its guest, shared out by time in flight.",
      all.map(([labels, { cpu }]) => [labels, cpu]),
    );
    yield histogram(
      "caisson_run_start_seconds",
      "Time from the admission of a run until its guest received it, by the kind of start: warm, new or cold.",
      [...this.#starts].map(([start, each]) => [{ start }, each]),
    );
    yield counter(
      "caisson_run_requests_refused_total",
      "Requests for runs that were refused before they counted against a limit, by the code of the error.",
      Object.entries(this.#refusals).map(([code, count]) => [{ code }, count]),
    );
    yield counter(
      "caisson_limiter_decisions_total",
      "Decisions of the limiter about runs: admitted, or the code of the error.",
      DECISIONS.map((decision) => [{ decision }, this.#decisions[decision]!]),
    );
    yield histogram(
      "caisson_limit_store_seconds",
      "Time that the store of the limits took for a decision about a run, also if it failed.",
      [[{}, this.#store]],
    );
  }

  #countsOf(container: string): ContainerCounts {
    return this.#listed.get(container) ?? this.#others;
  }

  #emptyCounts(): ContainerCounts {
    return { outcomes: zeros(this.#outcomes), duration: new Histogram(), cpu: new Histogram() };
  }
}

function zeros(names: readonly string[]): Counts {
  return Object.fromEntries(names.map((name) => [name, 0]));
}
