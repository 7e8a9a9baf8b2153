import type { RunObserver } from "./execution.ts";
import { LogFileSink } from "./log-sink.ts";
import { redactionOf } from "./redactions.ts";
import type { RunCall } from "./run-call.ts";
import type { RunDependencies } from "./run-dependencies.ts";

/**
 * Returns the observer that logs a run, without the secrets of the run.
 *
 * @param over is called once, when the guest is done with the run.
 */
export function observeRun(
  { request, answer, container, subject, secrets }: RunCall,
  { log, proxies, runCounts }: Pick<RunDependencies, "log" | "proxies" | "runCounts">,
  over: () => void,
): RunObserver {
  const { run } = answer;
  return {
    over,
    broke: (problem) => {
      const error = secrets ? redactionOf(secrets).problem(problem) : problem;
      log.run(run, container, subject.jti, proxies.clientOf(request), error);
    },
    refused: (refusal) => {
      log.refused(run, container, subject.jti, secrets ? redactionOf(secrets).value(refusal) : refusal);
    },
    logSink: new LogFileSink(log, runCounts, { run, container, jti: subject.jti }, secrets),
  };
}
