import type { IncomingMessage, ServerResponse } from "node:http";

import { Problem } from "../../errors.ts";
import type { Decision } from "../../limits/store.ts";
import { preflightHeaders } from "../headers.ts";
import { asProblem } from "../problem.ts";
import { discardRest } from "../read-body.ts";
import type { Target } from "../target.ts";
import type { ToolRun } from "../tool-run.ts";
import { authorizeRun } from "./authorize-run.ts";
import { codeOfCall } from "./code-of-call.ts";
import { type DryRun, type DryRunAnswer, dryRun } from "./dry-run.ts";
import { Execution, type Outcome } from "./execution.ts";
import { findTask, mustNotHaveEnded, type RunTarget } from "./find-task.ts";
import { hideFault, shownTo } from "./hide-fault.ts";
import { cancelWith, inputOfTool, targetOfTool } from "./input-of-tool.ts";
import { limitOr, limitProblem } from "./limit-problem.ts";
import { ObservedRun } from "./observe-run.ts";
import { redactionOf } from "./redactions.ts";
import { callersOf, isPublic, namesOf, type RunCall } from "./run-call.ts";
import { contextText, runContext, targetOfTask } from "./run-context.ts";
import type { RunDependencies } from "./run-dependencies.ts";
import { type RunInput, withRunInput } from "./run-input.ts";
import { packagesBefore, recordPackages } from "./run-packages.ts";
import { mustTakeRuns } from "./suspension.ts";

/** The methods of the path of a run. Named tasks also take HEAD and OPTIONS. */
const RUN_METHODS = "GET, POST, PUT, PATCH, DELETE";

/** The story of a run. The order of its steps is a promise: it decides the answer when several things are wrong. */
export class RunEndpoint {
  readonly #with: RunDependencies;

  constructor(dependencies: RunDependencies) {
    this.#with = dependencies;
  }

  /** @throws {Problem} until the request is authorized; after that, the run answers every error itself. */
  async handle(request: IncomingMessage, response: ServerResponse, target: Target, path: RunTarget): Promise<void> {
    let call: RunCall;
    try {
      call = await authorizeRun(request, response, target, path, this.#with);
    } catch (error) {
      throw this.#counted(error);
    }
    try {
      // The submitted code is released with the frame of `#begin`: there may be many runs, and each may last.
      const execution = await this.#begin(call);
      const outcome = await execution.outcome;
      if (call.recorded) await call.recorded.finish(call.trace!, outcome);
      else if (request.method === "OPTIONS" && "json" in outcome) call.answer.sendPreflight(RUN_METHODS);
      else call.answer.send(shownTo(outcome, call), this.#with.config.streamLimit, isPublic(call));
    } catch (error) {
      await this.#refuse(error, call);
    }
  }

  /**
   * Answers OPTIONS: with a run of a public task that may have a fetch handler, otherwise as for every other path. Only
   * the guest detects whether a task has a fetch handler, and code without it must not run for a preflight.
   */
  async options(request: IncomingMessage, response: ServerResponse, target: Target, path: RunTarget): Promise<void> {
    const { tasks } = this.#with;
    const task = path.task === null ? null : await findTask(tasks, path);
    if (task?.public && (!task.inline || task.mayHandleFetch)) {
      return await this.handle(request, response, target, path);
    }
    response.writeHead(204, preflightHeaders(RUN_METHODS)).end();
  }

  /** Runs a task once without publishing it. As `dryRun`. */
  dryRun(request: IncomingMessage, response: ServerResponse, what: DryRun): Promise<DryRunAnswer> {
    const look = (call: RunCall): Promise<void> => this.#look(call);
    return dryRun(request, response, what, this.#with, {
      look,
      begin: (call, input) => this.#beginWith(call, input),
    });
  }

  /**
   * Runs what a tool supplies, with all steps of other runs.
   *
   * @returns the record of the run, as JSON
   * @throws {Problem} if the run is not admitted
   */
  async runTool(request: IncomingMessage, response: ServerResponse, what: ToolRun): Promise<string> {
    const { target, path } = targetOfTool(what);
    let call: RunCall;
    try {
      call = await authorizeRun(request, response, target, path, this.#with);
    } catch (error) {
      throw this.#counted(error);
    }
    let outcome: Outcome | null = null;
    try {
      if (what.check) {
        // The check takes time, and a window with nothing left comes before every fault of the data.
        await this.#lookFirst(call);
        await what.check();
      }
      const execution = await this.#beginWith(call, await inputOfTool(call, what, this.#with));
      cancelWith(what.signal, execution);
      what.onBegun();
      outcome = await execution.outcomeOrNone;
    } catch (error) {
      const shown = await this.#report(error, call);
      if (!call.trace) throw shown;
    }
    return await call.recorded!.text(call.trace!, outcome);
  }

  /** Counts a request that was not authorized. @returns the error */
  #counted(error: unknown): unknown {
    this.#with.runMetrics.refused(asProblem(error).code);
    return error;
  }

  #begin(call: RunCall): Promise<Execution> {
    // A body that has arrived with the head costs nothing to read: then the admission decides, and the store is spared a
    // round trip. Node has parsed this body by now, because `handle` has awaited the authorization.
    return call.request.complete ? this.#beginWithBody(call) : this.#beginAfterLook(call);
  }

  async #beginAfterLook(call: RunCall): Promise<Execution> {
    await this.#lookFirst(call);
    return await this.#beginWithBody(call);
  }

  #beginWithBody(call: RunCall): Promise<Execution> {
    return withRunInput(call, this.#with, (input) => this.#beginWith(call, input));
  }

  /** Refuses a run before its body is read if a window has nothing left. */
  async #lookFirst(call: RunCall): Promise<void> {
    try {
      await this.#look(call);
    } catch (error) {
      // The admission decides whether runs go on without counts.
      if (!(error instanceof Problem) || error.code !== "store_unavailable") throw error;
    }
  }

  /** @throws {Problem} `container_limited`, `token_limited` */
  async #look(call: RunCall): Promise<void> {
    const { container, subject, answer } = call;
    const decision = await this.#with.limiter.look(container, subject);
    answer.usage = decision.usage;
    if (!decision.admitted) throw this.#limitProblem(call, decision);
  }

  async #beginWith(call: RunCall, input: RunInput): Promise<Execution> {
    const { data, body, options, kept } = input;
    const { containers, limiter, running, runMetrics, policies, packages } = this.#with;
    const { container, group, subject, network } = call;
    call.recorded?.accept(options);
    // Again, because the container may have been suspended while the body arrived.
    mustTakeRuns(container, policies);
    const found = packagesBefore(call, input, packages);
    const named = found instanceof Promise ? await found : found;
    if (found instanceof Promise) mustTakeRuns(container, policies);
    const reservation = containers.reserve(container, group, subject, performance.now(), network);
    const { slot } = reservation;
    const { replacements } = slot.container;
    // Called when the guest is done with the run or the client has left, and below when the run never begins.
    const release = (): void => containers.release(reservation);
    let begun = false;
    try {
      const askedMs = performance.now();
      let decision: Decision;
      try {
        decision = await limiter.admit(container, subject);
      } catch (error) {
        runMetrics.decided("store_unavailable");
        throw error;
      } finally {
        runMetrics.waitedForStore(performance.now() - askedMs);
      }
      const trace = this.#admitted(call, decision);
      if (kept) trace.keepInput(kept, call.secrets);
      call.recorded?.begin();
      const loaded = codeOfCall(call, input, named, this.#with);
      // Most runs contain their code, and a promise costs a turn of the microtasks.
      const code = loaded instanceof Promise ? await loaded : loaded;
      if (call.lock) trace.packages = recordPackages(call.lock);
      const warm = slot.warm(performance.now());
      const beginIn = ({ guest, start }: NonNullable<typeof warm>): Execution => {
        call.answer.mustHaveClient();
        if (running) this.#mustBeInForce(call);
        slot.container.mustNotBeEnded(replacements);
        const over = (): void => {
          release();
          running?.delete(execution);
          this.#with.traces.ended(trace, guest);
        };
        const execution = new Execution(new ObservedRun(call, trace, this.#with, over), trace);
        const context = (): string => this.#contextOf(call, data);
        const sentMs = call.answer.sent(start);
        const runOptions = {
          timeoutMs: timeoutOf(call),
          body,
          isPreflight: call.request.method === "OPTIONS",
          family: call.caller.family,
          caller: call.memory.name,
        };
        if (call.recorded) trace.meterGuest(guest);
        execution.begin(guest, guest.run(code, context, execution, sentMs, runOptions));
        trace.sent(start, sentMs, guest.inFlight.size - 1);
        // Guests that were replaced while the run waited take no further run, and neither does this guest.
        if (slot.container.replacements > replacements) slot.replaceGuest(performance.now());
        if (body) discardRest(call.response);
        begun = true;
        running?.add(execution, callersOf(call));
        abandonWithClient(call.response, execution);
        return execution;
      };
      return warm ? beginIn(warm) : await slot.whenArrived(beginIn);
    } finally {
      if (!begun) release();
    }
  }

  /** @throws {Problem} `container_limited`, `token_limited` */
  #admitted(call: RunCall, decision: Decision): NonNullable<RunCall["trace"]> {
    call.answer.decided(decision);
    if (!decision.admitted) throw this.#limitProblem(call, decision);
    this.#with.runMetrics.decided("admitted");
    for (const { claims } of callersOf(call)) this.#with.tokens.uses.ran(claims);
    return (call.trace = this.#with.traces.admitted(call));
  }

  #limitProblem(call: RunCall, decision: Decision): Problem {
    const problem = limitProblem(call.container, decision, this.#with.traces.limitSources(call), call.bearer);
    this.#with.runMetrics.decided(problem.code);
    return problem;
  }

  #mustBeInForce({ bearer, task }: RunCall): void {
    const { verifier } = this.#with.tokens;
    const state = bearer && verifier.stateOf(bearer);
    if (state && state !== "valid") throw verifier.problem(state, bearer);
    if (task) mustNotHaveEnded(task, verifier);
  }

  #contextOf(call: RunCall, data: string | null): string {
    const { request, headers, container, caller, secrets, answer, traceparent } = call;
    const origin = this.#with.proxies.originOf(request);
    const { params } = caller.claims;
    const run = { id: answer.run, headers, container, origin, params, traceparent, isPublic: isPublic(call) };
    return contextText(runContext(request, targetOfTask(call), run), data, secrets?.json);
  }

  /** Answers an error. */
  async #refuse(cause: unknown, call: RunCall): Promise<void> {
    const shown = await this.#report(cause, call);
    if (call.trace && call.recorded) await call.recorded.fail(call.trace);
    else call.answer.sendProblem(shown);
  }

  /**
   * Logs and counts an error. If the limiter was not asked before, it is asked now: a window with nothing left comes before
   * every fault of a body, and every answer has the rate-limit headers.
   *
   * @returns the error that the client receives
   */
  async #report(cause: unknown, call: RunCall): Promise<unknown> {
    const { request, secrets, answer, trace } = call;
    let error = cause;
    if (!answer.hasUsage) await this.#look(call).catch((refused: unknown) => (error = limitOr(cause, refused)));
    // An error that the task throws may hold its secrets. Until the admission, the text is the service's.
    if (secrets && trace) error = redactionOf(secrets).error(error);
    const { log, proxies } = this.#with;
    const client = proxies.clientOf(request);
    const family = call.memory.name;
    if (answer.isCounted) log.run(family, namesOf(call), client, error);
    else log.refusedRun(family, namesOf(call), client, error);
    if (!trace) this.#with.traces.refused(call, asProblem(error));
    else if (trace.sentMs === 0) this.#with.traces.neverBegan(trace, asProblem(error));
    return hideFault(error, call);
  }
}

/** The lowest timeout that the tokens of the run and its request set, in milliseconds. */
function timeoutOf({ caller, bearer, recorded }: RunCall): number {
  return Math.min(caller.timeoutMs, bearer?.timeoutMs ?? Infinity, recorded?.options.timeoutMs ?? Infinity);
}

function abandonWithClient(response: ServerResponse, execution: Execution): void {
  response.on("close", () => {
    if (!response.writableFinished) execution.abandon();
  });
}
