import type { IncomingMessage, ServerResponse } from "node:http";

import { codeOf } from "../../containers/guest/code-table.ts";
import { Problem } from "../../errors.ts";
import type { Decision } from "../../limits/store.ts";
import type { Sources } from "../../source/fetch.ts";
import type { Caller } from "../../tokens/caller.ts";
import { mayHaveSecrets } from "../../tokens/secrets/vault.ts";
import { clientNetwork } from "../address.ts";
import type { MemoryOwner } from "../bodies.ts";
import { readCredential } from "../credential.ts";
import { discardRest } from "../read-body.ts";
import { containerName, type Target, taskUrl } from "../target.ts";
import { Execution, type Outcome } from "./execution.ts";
import { findTask, mustBeRunnable, mustNotHaveEnded, type RunTarget, subjectOfTask } from "./find-task.ts";
import { hideFault } from "./hide-fault.ts";
import { authorize, refuseAsSubresource } from "./may-run.ts";
import { observeRun } from "./observe-run.ts";
import { redactionOf } from "./redactions.ts";
import { RunAnswer } from "./run-answer.ts";
import { callersOf, type RunCall } from "./run-call.ts";
import { contextText, runContext } from "./run-context.ts";
import type { RunDependencies } from "./run-dependencies.ts";
import { type CodeText, readRunInput, type RunInput } from "./run-input.ts";

/** The story of a run. The order of its steps is a promise: it decides the answer when several things are wrong. */
export class RunEndpoint {
  readonly #with: RunDependencies;

  constructor(dependencies: RunDependencies) {
    this.#with = dependencies;
  }

  /** @throws {Problem} until the request is authorized; after that, the run answers every error itself. */
  async handle(request: IncomingMessage, response: ServerResponse, target: Target, path: RunTarget): Promise<void> {
    const call = await this.#authorize(request, response, target, path);
    try {
      call.answer.send(await this.#run(call), this.#with.config.streamLimit);
    } catch (error) {
      await this.#refuse(error, call);
    }
  }

  async #authorize(
    request: IncomingMessage,
    response: ServerResponse,
    target: Target,
    path: RunTarget,
  ): Promise<RunCall> {
    const arrivedMs = performance.now();
    const { config, tokens, tasks, authenticator, runIds } = this.#with;
    const found = path.task === null ? null : await findTask(tasks, path);
    // A public task runs for every client: the credentials of the request are for the task.
    const credential = found?.public ? null : readCredential(request, target.query, config.queryKey);
    // The authenticator answers from its cache without a turn of the event loop.
    const verified = credential && authenticator.verify(credential.token, request);
    const bearer = verified instanceof Promise ? await verified : verified;
    if (bearer) tokens.uses.seen(bearer.claims);
    const container = containerName(path.container);
    const url = taskUrl(target.query);
    refuseAsSubresource(request);
    if (bearer) authorize(bearer.claims, container);
    const task = path.task === null ? null : mustBeRunnable(found, bearer, tokens.verifier);
    const caller = task?.caller ?? bearer!;
    const { claims } = caller;
    const memory = this.#memoryOf(bearer, request);
    const answer = new RunAnswer(response, runIds.next(), memory.name, target.query.has("key"), arrivedMs);
    const counted = task ? subjectOfTask(task, bearer) : caller.limitSubject();
    const subject = counted instanceof Promise ? await counted : counted;
    const secrets = mayHaveSecrets(claims) ? await tokens.vault.of(task?.owner ?? claims) : null;
    const group = caller.isolationGroup(secrets?.version ?? null);
    const run = { request, response, target, container, caller, bearer, task, taskUrl: url };
    return { ...run, subject, group, pin: claims.code, memory, secrets, answer };
  }

  async #run(call: RunCall): Promise<Outcome> {
    // The submitted code is released with the frame of `#begin`: there may be many runs, and each may last.
    const execution = await this.#begin(call);
    return execution.outcome;
  }

  async #begin(call: RunCall): Promise<Execution> {
    await this.#lookFirst(call);
    const input = await readRunInput(call, this.#with);
    try {
      return await this.#beginWith(call, input);
    } finally {
      input.release();
    }
  }

  /**
   * Refuses a run before its body is read if a window has nothing left. A body that has arrived with the head costs nothing
   * to read: then the admission decides, and the store is spared a round trip.
   */
  async #lookFirst(call: RunCall): Promise<void> {
    // Node has parsed a body that came with the head after this turn.
    await Promise.resolve();
    if (call.request.complete) return;
    try {
      await this.#look(call);
    } catch (error) {
      // The admission decides whether runs go on without counts.
      if (!(error instanceof Problem) || error.code !== "store_unavailable") throw error;
    }
  }

  /** @throws {Problem} `container_limited`, `token_limited` */
  async #look({ container, subject, answer }: RunCall): Promise<void> {
    const decision = await this.#with.limiter.look(container, subject);
    answer.usage = decision.usage;
    if (!decision.admitted) throw limitProblem(container, decision);
  }

  async #beginWith(call: RunCall, { code: submitted, data, body }: RunInput): Promise<Execution> {
    const { containers, sources, running } = this.#with;
    const { container, group, subject, memory } = call;
    const reservation = containers.reserve(container, group, subject, performance.now(), memory.isPublic);
    // Called when the guest is done with the run or the client has left, and below when the run never begins.
    const release = (): void => containers.release(reservation);
    let begun = false;
    try {
      await this.#admit(call);
      const code = submitted ?? (await fetchCode(call, sources));
      const { slot } = reservation;
      const { guest, start } = slot.warm(performance.now()) ?? (await slot.arrive());
      if (running) this.#mustBeInForce(call);
      const over = (): void => {
        release();
        running?.delete(execution);
      };
      const execution = new Execution(observeRun(call, this.#with, over));
      const context = (): string => this.#contextOf(call, data);
      execution.begin(guest, guest.run(codeOf(code), context, execution, call.answer.sent(start), body));
      if (body) discardRest(call.response);
      begun = true;
      running?.add(execution, callersOf(call));
      abandonWithClient(call.response, execution);
      return execution;
    } finally {
      if (!begun) release();
    }
  }

  async #admit(call: RunCall): Promise<void> {
    const { container, subject, answer } = call;
    const decision = await this.#with.limiter.admit(container, subject);
    answer.decided(decision);
    if (!decision.admitted) throw limitProblem(container, decision);
    for (const { claims } of callersOf(call)) this.#with.tokens.uses.ran(claims);
  }

  #mustBeInForce({ bearer, task }: RunCall): void {
    const { verifier } = this.#with.tokens;
    const state = bearer && verifier.stateOf(bearer);
    if (state && state !== "valid") throw verifier.problem(state, bearer);
    if (task) mustNotHaveEnded(task, verifier);
  }

  #contextOf({ request, target, container, caller, secrets, answer }: RunCall, data: string | null): string {
    const origin = this.#with.proxies.originOf(request);
    const run = { id: answer.run, container, origin, params: caller.claims.params };
    return contextText(runContext(request, target, run), data, secrets?.json);
  }

  /**
   * Answers an error. If the limiter was not asked before, it is asked now: a window with nothing left comes before every
   * fault of a body, and every answer has the rate-limit headers.
   */
  async #refuse(cause: unknown, call: RunCall): Promise<void> {
    const { request, container, subject, secrets, answer } = call;
    let error = cause;
    if (!answer.hasUsage) await this.#look(call).catch((refused: unknown) => (error = limitOr(cause, refused)));
    // An error that the task throws may hold its secrets.
    if (secrets) error = redactionOf(secrets).error(error);
    const { log, proxies } = this.#with;
    const client = proxies.clientOf(request);
    if (answer.isCounted) log.run(answer.run, container, subject.jti, client, error);
    else log.refusedRun(call.memory.name, answer.run, container, subject.jti, client, error);
    answer.sendProblem(hideFault(error, call));
  }

  /** The memory of a request without a token belongs to the network of its client. */
  #memoryOf(bearer: Caller | null, request: IncomingMessage): MemoryOwner {
    if (bearer) return bearer.memory;
    return { name: clientNetwork(this.#with.proxies.clientOf(request)), isPublic: true };
  }
}

function abandonWithClient(response: ServerResponse, execution: Execution): void {
  if (response.destroyed) return execution.abandon();
  response.on("close", () => {
    if (!response.writableFinished) execution.abandon();
  });
}

/** A refusal by the limits comes before a fault of the request. A store that cannot be reached hides no fault. */
function limitOr(fault: unknown, refused: unknown): unknown {
  return refused instanceof Problem && refused.status === 429 ? refused : fault;
}

/** Fetches the code of a run from its URL. @throws {Problem} as `Sources.fetch`. */
async function fetchCode({ taskUrl: url, group, pin, response }: RunCall, sources: Sources): Promise<CodeText> {
  // The run of a client that has left must not hold its slot for as long as a slow server answers.
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const permit = { net: group.net, sha256: pin?.sha256 ?? null };
  const { bytes, contentType } = await sources.fetch(pin?.url ?? url!, permit, gone.signal);
  const typescript = contentType?.startsWith("application/typescript") ?? false;
  return { source: bytes, typescript, modules: null };
}

/** The 429 of a refused run. It names every violated window; its code is that of the window with the longest wait. */
function limitProblem(container: string, decision: Decision): Problem {
  const worst = decision.violations.reduce((a, b) => (b.retryAfterMs > a.retryAfterMs ? b : a));
  const subject = worst.class === "container" ? `container "${container}"` : "the token";
  const runs = worst.limit === 1 ? "run" : "runs";
  const wait = Math.ceil(decision.retryAfterMs / 1_000);
  return new Problem(
    worst.class === "container" ? "container_limited" : "token_limited",
    `${subject} allows ${worst.limit} ${runs} a ${worst.window}; the next fits in ${wait} s`,
    { retryAfterMs: decision.retryAfterMs, violations: decision.violations },
  );
}
