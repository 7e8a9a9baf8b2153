import type { Config } from "../../config.ts";
import type { Guest } from "../../containers/guest/guest.ts";
import type { Problem } from "../../errors.ts";
import type { LimitSources } from "../../limits/limit-origin.ts";
import type { PolicyStore } from "../../policies/store.ts";
import type { Records } from "../../records/records.ts";
import type { Usage } from "../../records/usage/usage.ts";
import type { RunMetrics } from "../../telemetry/metrics/run-metrics.ts";
import { CpuShares } from "./cpu-shares.ts";
import { callersOf, type RunCall } from "./run-call.ts";
import { RunTrace } from "./run-trace.ts";

export interface RunTracesOptions {
  readonly config: Pick<Config, "containerLimit" | "tokenLimit" | "consoleLimit" | "cpuLimit">;
  readonly policies: Pick<PolicyStore, "get">;
  readonly records: Pick<Records, "ended" | "endedWhen">;
  readonly usage: Pick<Usage, "admitted" | "ended" | "refused" | "addCpu">;
  readonly metrics: Pick<RunMetrics, "ended" | "refused" | "used">;
  readonly guests: Iterable<Guest>;
  /** The name of this node. */
  readonly node: string;
}

/** Begins the trace of each admitted run, and passes it to the records and the usage when the run has ended. */
export class RunTraces {
  readonly #with: RunTracesOptions;
  readonly #defaults: { readonly container: Config["containerLimit"]; readonly token: Config["tokenLimit"] };

  readonly #shares: CpuShares;
  #isStopping = false;

  constructor(options: RunTracesOptions) {
    this.#with = options;
    const { guests, usage, metrics, config } = options;
    this.#shares = new CpuShares({ guests, usage, metrics, cores: config.cpuLimit, cellOf: ({ cell }) => cell });
    this.#defaults = { container: config.containerLimit, token: config.tokenLimit };
  }

  /** Returns where the limits of a run may be set. */
  limitSources({ container, subject, task, bearer }: RunCall): LimitSources {
    return {
      defaults: this.#defaults,
      policy: this.#with.policies.get(container)?.limits,
      subject,
      isTask: task !== null,
      bearerJti: bearer && bearer.claims.jti,
    };
  }

  /** Called once for each admitted run. */
  admitted(call: RunCall): RunTrace {
    const { container, task, draft, bearer, network, answer, recorded } = call;
    const { config, usage, node } = this.#with;
    const trace = new RunTrace(
      {
        run: answer.run,
        container,
        // The task itself has its code, which may be large.
        task: task
          ? { name: task.name, version: task.version }
          : draft === null
            ? null
            : { name: draft, version: null },
        bearer,
        network,
        callers: callersOf(call),
        traceparent: call.traceparent,
        file: recorded?.options.file ?? null,
        usage: answer.usage,
      },
      {
        node,
        arrivedMs: answer.arrivedMs,
        nowMs: performance.now(),
        unixMs: Date.now(),
        consoleLimit: config.consoleLimit,
        ...this.limitSources(call),
      },
    );
    trace.cell = usage.admitted(this.#subjectOf(call), trace.startedMs);
    return trace;
  }

  /** Runs that end from now on without a result were interrupted by the end of the service. */
  stopping(): void {
    this.#isStopping = true;
  }

  async close(): Promise<void> {
    await this.#shares.close();
  }

  /**
   * Called once, when the guest is done with a run, or when an admitted run has failed before a guest received it.
   *
   * @param guest the guest that had the run, or null
   */
  ended(trace: RunTrace, guest: Guest | null): void {
    if (trace.endedMs > 0) return;
    trace.endedMs = performance.now();
    if (this.#isStopping) trace.interrupted();
    const { records, usage, metrics } = this.#with;
    const cell = trace.cell!;
    if (guest) this.#shares.ended(guest, trace, cell);
    const runMs = trace.sentMs === 0 ? 0 : trace.endedMs - trace.sentMs;
    const { bytesSent = 0, bytesReceived = 0 } = trace.egress ?? {};
    usage.ended(cell, trace.status, runMs, bytesSent + bytesReceived);
    metrics.ended(trace);
    if (trace.meter) records.endedWhen(trace.measure(), trace);
    else records.ended(trace);
  }

  /** Called for an admitted run that no guest received. */
  neverBegan(trace: RunTrace, problem: Problem): void {
    trace.failed(problem);
    this.ended(trace, null);
  }

  /** Counts a request that was refused before the admission. */
  refused(call: RunCall, problem: Problem): void {
    this.#with.metrics.refused(problem.code);
    this.#with.usage.refused(this.#subjectOf(call), problem.code, Date.now());
  }

  #subjectOf({ container, task, draft, bearer, caller }: RunCall): Parameters<Usage["admitted"]>[0] {
    return {
      container,
      task: task ? task.name : draft,
      token: bearer && bearer.claims.jti,
      family: (bearer ?? caller).family,
    };
  }
}
