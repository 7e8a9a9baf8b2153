import type { IncomingMessage, ServerResponse } from "node:http";

import type { Config } from "../../config.ts";
import type { ContainerManager } from "../../containers/container-manager.ts";
import { codeOf } from "../../containers/guest/code-table.ts";
import type { RequestBody } from "../../containers/guest/upload.ts";
import type { IsolationGroup } from "../../containers/isolation-group.ts";
import { Problem } from "../../errors.ts";
import type { LimitSubject } from "../../limits/limit-subject.ts";
import type { Limiter } from "../../limits/limiter.ts";
import { readSubmission, type Submission } from "../../source/body.ts";
import type { Sources } from "../../source/fetch.ts";
import { isBlank, withoutPreamble } from "../../source/text.ts";
import type { Task } from "../../tasks/task.ts";
import type { Tasks } from "../../tasks/tasks.ts";
import type { Log } from "../../telemetry/log.ts";
import type { RunCounts } from "../../telemetry/run-counts.ts";
import type { RunIds } from "../../telemetry/runs.ts";
import type { Caller } from "../../tokens/caller.ts";
import type { Pin } from "../../tokens/claims.ts";
import { mayHaveSecrets, type RunSecrets } from "../../tokens/secrets/vault.ts";
import type { Tokens } from "../../tokens/token-service.ts";
import { clientNetwork } from "../address.ts";
import type { Authenticator } from "../authenticator.ts";
import type { Bodies, MemoryOwner } from "../bodies.ts";
import { readCredential } from "../credential.ts";
import type { Proxies } from "../proxies.ts";
import { discardRest, hasBody } from "../read-body.ts";
import { containerName, type Target, taskUrl } from "../target.ts";
import type { ActiveRuns } from "./active-runs.ts";
import { Execution, type Outcome, type RunObserver } from "./execution.ts";
import { findTask, mustBeRunnable, mustNotHaveEnded, type RunTarget, subjectOfTask } from "./find-task.ts";
import { limitProblem } from "./limit-problem.ts";
import { LogFileSink } from "./log-sink.ts";
import { authorize, refuseAsSubresource } from "./may-run.ts";
import { redactionOf } from "./redactions.ts";
import { RunAnswer } from "./run-answer.ts";
import { bodySource } from "./run-body.ts";
import { contextText, runContext } from "./run-context.ts";

export interface RunDependencies {
  readonly config: Config;
  readonly tokens: Tokens;
  readonly tasks: Tasks;
  readonly authenticator: Authenticator;
  readonly bodies: Bodies;
  readonly proxies: Proxies;
  readonly limiter: Limiter;
  readonly containers: ContainerManager;
  readonly sources: Sources;
  readonly runIds: RunIds;
  readonly runCounts: RunCounts;
  readonly log: Log;
  /** Where runs are ended with their tokens; null where they are not. */
  readonly running: ActiveRuns | null;
}

/** An envelope may hold data beside its code, and escapes make code longer than it is. */
const ENVELOPE_FACTOR = 4;

/** One request, once it is known that its token may run code in its container. */
interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: Target;
  readonly container: string;
  /** What it runs under: the token that asks, or that of a task. */
  readonly caller: Caller;
  /** The token that asks; null where a public task runs for anybody. */
  readonly bearer: Caller | null;
  readonly task: Task | null;
  readonly taskUrl: string | null;
  readonly subject: LimitSubject;
  readonly group: IsolationGroup;
  /** The only code that the token may run, or null. */
  readonly pin: Pin | null;
  /** Whose memory its body and its answer take. */
  readonly memory: MemoryOwner;
  /** What its code is given and nobody else. */
  readonly secrets: RunSecrets | null;
  readonly answer: RunAnswer;
}

/** What a request brought. */
interface Input {
  /** `null` when it is to be fetched. */
  readonly code: CodeText | null;
  /** `data` of an envelope as JSON, or null when there is none. */
  readonly data: string | null;
  /** The request's own body, where that is not its code; null when there is none. */
  readonly body: RequestBody | null;
  /** Gives back the memory that the request's body takes. */
  readonly release: () => void;
}
type CodeText = Omit<Submission, "data">;

/** The story of a run. The order of its steps is a promise: it decides the answer when several things are wrong. */
export class RunEndpoint {
  readonly #with: RunDependencies;

  constructor(dependencies: RunDependencies) {
    this.#with = dependencies;
  }

  /** @throws {Problem} as long as nobody has been authorized; after that every answer is the run's own. */
  async handle(request: IncomingMessage, response: ServerResponse, target: Target, place: RunTarget): Promise<void> {
    const arrivedMs = performance.now();
    const { config, tokens, tasks, authenticator, runIds } = this.#with;
    const found = place.task === null ? null : await findTask(tasks, place);
    // A public task runs for whoever asks: what credentials the request has are not for this service.
    const credential = found?.public ? null : readCredential(request, target.query, config.queryKey);
    // A token that was seen before is checked without a turn of the event loop.
    const verified = credential && authenticator.verify(credential.token, request);
    const bearer = verified instanceof Promise ? await verified : verified;
    if (bearer) tokens.uses.seen(bearer.claims);
    const container = containerName(place.container);
    const url = taskUrl(target.query);
    refuseAsSubresource(request);
    if (bearer) authorize(bearer.claims, container);
    const task = place.task === null ? null : mustBeRunnable(found, bearer, tokens.verifier);
    const caller = task?.caller ?? bearer!;
    const { claims } = caller;
    const memory = this.#memoryOf(bearer, request);
    const answer = new RunAnswer(response, runIds.next(), memory.name, target.query.has("key"), arrivedMs);
    const looked = task ? subjectOfTask(task, bearer) : caller.limitSubject();
    const subject = looked instanceof Promise ? await looked : looked;
    const secrets = mayHaveSecrets(claims) ? await tokens.vault.of(task?.owner ?? claims) : null;
    const group = caller.isolationGroup(secrets?.version ?? null);
    const run = { request, response, target, container, caller, bearer, task, taskUrl: url };
    const call = { ...run, subject, group, pin: claims.code, memory, secrets, answer };
    try {
      answer.send(await this.#run(call), config.streamLimit);
    } catch (error) {
      await this.#refuse(error, call);
    }
  }

  async #run(call: Call): Promise<Outcome> {
    // What was submitted is let go with the frame that held it: a run may last, and there are many.
    const execution = await this.#begin(call);
    return execution.outcome;
  }

  async #begin(call: Call): Promise<Execution> {
    await this.#lookFirst(call);
    const input = await this.#readInput(call);
    try {
      return await this.#beginWith(call, input);
    } finally {
      input.release();
    }
  }

  /**
   * Refuses a run of which a window has nothing left before its body is read. A body that is here already costs nothing
   * to read: then the admission decides, and no look costs the store a round trip.
   */
  async #lookFirst(call: Call): Promise<void> {
    // What came with the head is parsed by then.
    await Promise.resolve();
    if (call.request.complete) return;
    try {
      await this.#look(call);
    } catch (error) {
      // Whether runs go on without the counts is for the admission to say.
      if (!(error instanceof Problem) || error.code !== "store_unavailable") throw error;
    }
  }

  /** @throws {Problem} `container_limited`, `token_limited` */
  async #look({ container, subject, answer }: Call): Promise<void> {
    const decision = await this.#with.limiter.look(container, subject);
    answer.usage = decision.usage;
    if (!decision.admitted) throw limitProblem(container, decision);
  }

  async #beginWith(call: Call, { code: submitted, data, body }: Input): Promise<Execution> {
    const { containers, running } = this.#with;
    const place = containers.reserve(call.container, call.group, call.subject, performance.now());
    // Given back when the guest is done with the run or its client has left, and here when it never began.
    const release = (): void => containers.release(place);
    let begun = false;
    try {
      await this.#admit(call);
      const code = submitted ?? (await this.#fetchCode(call));
      const { slot } = place;
      const { guest, start } = slot.warm(performance.now()) ?? (await slot.arrive());
      if (running) this.#mustBeInForce(call);
      const over = (): void => {
        release();
        running?.delete(execution);
      };
      const execution = new Execution(this.#observe(call, over));
      execution.begin(
        guest,
        guest.run(codeOf(code), () => this.#contextOf(call, data), execution, call.answer.sent(start), body),
      );
      if (body) discardRest(call.response);
      begun = true;
      running?.add(execution, callersOf(call));
      abandonWithClient(call.response, execution);
      return execution;
    } finally {
      if (!begun) release();
    }
  }

  #mustBeInForce({ bearer, task }: Call): void {
    const { verifier } = this.#with.tokens;
    const state = bearer && verifier.stateOf(bearer);
    if (state && state !== "valid") throw verifier.problem(state, bearer);
    if (task) mustNotHaveEnded(task, verifier);
  }

  /** What the request brought: its data, and its code unless that is to be fetched. */
  async #readInput(call: Call): Promise<Input> {
    const { task } = call;
    if (call.pin?.url === undefined && !task) return await this.#readCode(call);
    if (call.taskUrl !== null) {
      const what = task ? "the path names a task" : "the token runs the code of one URL";
      throw new Problem("code_pinned", `${what}, and task_url names other code`, {
        hint: "Leave task_url out. What the request holds as its body is data for the code.",
      });
    }
    const { codeLimit, jsonDepthLimit } = this.#with.config;
    const limits = { bytes: codeLimit * ENVELOPE_FACTOR, jsonDepth: jsonDepthLimit };
    const found = await bodySource(call.request, call.response, limits, this.#with.bodies, call.memory);
    const body = found && { source: found.source, mostHeld: limits.bytes };
    const release = found ? found.release : nothing;
    if (!task?.inline) return { code: null, data: null, body, release };
    try {
      const code = withoutPreamble(await this.#with.tasks.codeOf(task));
      return { code: { source: code, typescript: false, modules: null }, data: null, body, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** The code of the body, unless it is to be fetched. */
  async #readCode({ request, response, taskUrl: url, pin, memory }: Call): Promise<Input> {
    const { codeLimit, jsonDepthLimit } = this.#with.config;
    if (!hasBody(request)) return toFetch(url);
    if (request.method === "GET" || request.method === "DELETE") {
      throw new Problem("request_invalid", `${request.method} takes no body; it supplies code by task_url`);
    }
    const contentType = request.headers["content-type"];
    const isEnvelope = contentType?.toLowerCase().startsWith("application/json");
    const limitBytes = isEnvelope ? codeLimit * ENVELOPE_FACTOR : codeLimit;
    const tooLarge = (): Problem => {
      return new Problem("code_too_large", `the body is longer than the ${limitBytes} bytes that are taken`);
    };
    const { bytes, release } = await this.#with.bodies.read(request, response, {
      limitBytes,
      tooLarge,
      owner: memory,
    });
    try {
      if (isBlank(bytes)) return toFetch(url);
      if (url !== null) {
        throw new Problem("code_ambiguous", "the request holds code in its body and names code by task_url", {
          hint: "Give one of the two.",
        });
      }
      const sha256 = pin?.sha256 ?? null;
      const limits = { codeBytes: codeLimit, jsonDepth: jsonDepthLimit, sha256, holder: memory.name };
      const { data, ...code } = await readSubmission(bytes, contentType, limits);
      return { code, data, body: null, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  async #admit(call: Call): Promise<void> {
    const { container, subject, answer } = call;
    const decision = await this.#with.limiter.admit(container, subject);
    answer.decided(decision);
    if (!decision.admitted) throw limitProblem(container, decision);
    for (const { claims } of callersOf(call)) this.#with.tokens.uses.ran(claims);
  }

  async #fetchCode({ taskUrl: url, group, pin, response }: Call): Promise<CodeText> {
    // A client that leaves must not hold its place for as long as a slow server likes.
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const permit = { net: group.net, sha256: pin?.sha256 ?? null };
    const { bytes, contentType } = await this.#with.sources.fetch(pin?.url ?? url!, permit, gone.signal);
    const typescript = contentType?.startsWith("application/typescript") ?? false;
    return { source: bytes, typescript, modules: null };
  }

  /**
   * Answers what went wrong. Where the limiter was not asked, it is now: a window with nothing left comes before all that
   * is wrong with a body, and the rate-limit headers are due in any case.
   */
  async #refuse(cause: unknown, call: Call): Promise<void> {
    const { request, container, subject, secrets, answer } = call;
    let error = cause;
    if (!answer.hasUsage) await this.#look(call).catch((refused: unknown) => (error = limitOr(cause, refused)));
    // What a task throws may hold what it was given.
    if (secrets) error = redactionOf(secrets).error(error);
    const { log, proxies } = this.#with;
    const client = proxies.clientOf(request);
    if (answer.isCounted) log.run(answer.run, container, subject.jti, client, error);
    else log.refusedRun(call.memory.name, answer.run, container, subject.jti, client, error);
    answer.sendProblem(error);
  }

  /** Without a token a client is what its address is. */
  #memoryOf(bearer: Caller | null, request: IncomingMessage): MemoryOwner {
    if (bearer) return bearer.memory;
    return { name: clientNetwork(this.#with.proxies.clientOf(request)), isPublic: true };
  }

  #contextOf({ request, target, container, caller, secrets, answer }: Call, data: string | null): string {
    const origin = this.#with.proxies.originOf(request);
    const run = { id: answer.run, container, origin, params: caller.claims.params };
    return contextText(runContext(request, target, run), data, secrets?.json);
  }

  #observe({ request, answer, container, subject, secrets }: Call, over: () => void): RunObserver {
    const { log, proxies, runCounts } = this.#with;
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
}

function abandonWithClient(response: ServerResponse, execution: Execution): void {
  if (response.destroyed) return execution.abandon();
  response.on("close", () => {
    if (!response.writableFinished) execution.abandon();
  });
}

/** All that it is counted for. */
function callersOf({ caller, bearer }: Call): Caller[] {
  return bearer === null || bearer === caller ? [caller] : [caller, bearer];
}

/** A refusal by the limits comes before the fault of a request. While the counts cannot be reached, they are not told. */
function limitOr(fault: unknown, refused: unknown): unknown {
  return refused instanceof Problem && refused.status === 429 ? refused : fault;
}

function nothing(): void {}

function toFetch(url: string | null): Input {
  if (url !== null) return { code: null, data: null, body: null, release: nothing };
  throw new Problem("code_missing", "the request holds no code", {
    hint: "Send code as the request body, or name it with task_url.",
  });
}
