import type { IncomingMessage, ServerResponse } from "node:http";

import type { Config } from "../config.ts";
import { type Code, codeOf } from "../containers/codes.ts";
import type { Container } from "../containers/container.ts";
import type { Registry } from "../containers/registry.ts";
import type { EgressPolicy } from "../egress/policy.ts";
import { Problem } from "../errors.ts";
import type { Decision, Limiter } from "../limits/limiter.ts";
import { readSubmission, type Submission } from "../source/body.ts";
import { fetchSource } from "../source/fetch.ts";
import type { Log } from "../telemetry/log.ts";
import type { RunIds } from "../telemetry/runs.ts";
import type { Tokens } from "../tokens/authority.ts";
import { type Claims, permitsContainer, permitsVerb } from "../tokens/claims.ts";
import { readCredential } from "./credential.ts";
import { Execution } from "./execution.ts";
import { holderOf } from "./holder.ts";
import { limitProblem } from "./limit-problem.ts";
import { hasBody, readBody } from "./read-body.ts";
import { RunAnswer } from "./run-answer.ts";
import { runContext } from "./run-context.ts";
import { containerName, type Target, taskUrl } from "./target.ts";
import { readUsage } from "./usage.ts";

export interface RunDependencies {
  readonly config: Config;
  readonly tokens: Tokens;
  readonly limiter: Limiter;
  readonly containers: Registry;
  readonly egress: EgressPolicy;
  readonly runIds: RunIds;
  readonly log: Log;
}

/** An envelope may hold data beside its code, and escapes make code longer than it is. */
const ENVELOPE_FACTOR = 8;
/** A page must not make a browser load a task's answer as code, whatever the task says that it is. */
const REFUSED_DESTINATIONS = new Set(["script", "style", "worker", "sharedworker", "serviceworker", "object", "embed"]);

/** The story of a run. The order of its steps is a promise: it decides the answer when several things are wrong. */
export class RunEndpoint {
  readonly #with: RunDependencies;

  constructor(dependencies: RunDependencies) {
    this.#with = dependencies;
  }

  /** @throws {Problem} as long as nobody has been authorized; after that every answer is the run's own. */
  async handle(request: IncomingMessage, response: ServerResponse, target: Target, segment: string): Promise<void> {
    const arrivedMs = performance.now();
    const { config, tokens } = this.#with;
    const credential = readCredential(request, target.query, config.queryKey);
    // A token that was seen before is checked without a turn of the event loop.
    const verified = tokens.verifier.verify(credential.token);
    const claims = verified instanceof Promise ? await verified : verified;
    const head = readHead(request, target, segment);
    authorize(claims, head.container);
    const answer = new RunAnswer(response, this.#with.runIds.next(), credential.byKey, arrivedMs);
    try {
      await this.#run(request, response, target, head, claims, answer);
    } catch (error) {
      await this.#refuse(error, head.container, claims, answer);
    }
  }

  async #run(
    request: IncomingMessage,
    response: ServerResponse,
    target: Target,
    head: Head,
    claims: Claims,
    answer: RunAnswer,
  ): Promise<void> {
    const submission = await this.#readCode(request, response, head);
    const container = this.#with.containers.reserve(head.container, performance.now());
    const execution = new Execution((level, text) => this.#with.log.task(answer.run, head.container, level, text));
    let sent = false;
    try {
      await this.#admit(head.container, claims, answer);
      const source = submission ?? (await this.#fetchCode(head.taskUrl!));
      const data = submission?.data;
      const context = (): string =>
        JSON.stringify(runContext(request, target, { id: answer.run, container: head.container, data }));
      sent = await send(container, codeOf(source), context, execution, answer);
      abandonWithClient(response, execution);
      answer.send(await execution.outcome);
    } finally {
      // The place is the guest's to give back: a client that leaves does not end what it started.
      if (sent) void execution.over.then(() => this.#with.containers.release(container));
      else this.#with.containers.release(container);
    }
  }

  async #readCode(request: IncomingMessage, response: ServerResponse, head: Head): Promise<Submission | null> {
    const { codeLimit, jsonDepthLimit } = this.#with.config;
    if (!hasBody(request)) return requireUrl(head);
    if (request.method === "GET" || request.method === "DELETE") {
      throw new Problem("request_invalid", `${request.method} takes no body; it supplies code by task_url`);
    }
    const contentType = request.headers["content-type"];
    const limit = contentType?.toLowerCase().startsWith("application/json") ? codeLimit * ENVELOPE_FACTOR : codeLimit;
    const body = await readBody(request, response, limit, () => {
      return new Problem("code_too_large", `the body is longer than the ${limit} bytes that are taken`);
    });
    if (body.length === 0) return requireUrl(head);
    if (head.taskUrl !== null) {
      throw new Problem("code_ambiguous", "the request holds code in its body and names code by task_url", {
        hint: "Give one of the two.",
      });
    }
    return readSubmission(body, contentType, { codeBytes: codeLimit, jsonDepth: jsonDepthLimit });
  }

  async #admit(container: string, claims: Claims, answer: RunAnswer): Promise<Decision> {
    const decision = await this.#with.limiter.admit(container, holderOf(claims, this.#with.tokens.registry));
    answer.usage = decision.usage;
    answer.timing.admittedMs = performance.now();
    if (!decision.admitted) throw limitProblem(container, decision);
    return decision;
  }

  async #fetchCode(url: string): Promise<Submission> {
    const { codeLimit, taskUrlLimit } = this.#with.config;
    const { bytes, contentType } = await fetchSource(url, this.#with.egress, {
      connectMs: 2_000,
      totalMs: 5_000,
      maxBytes: codeLimit,
      maxRedirects: 3,
      urlMaxLength: taskUrlLimit,
    });
    const typescript = contentType?.startsWith("application/typescript") ?? false;
    return { source: bytes, typescript, modules: null, data: undefined };
  }

  /** Answers what went wrong. The rate-limit headers are due even where nothing was asked of the limiter. */
  async #refuse(error: unknown, container: string, claims: Claims, answer: RunAnswer): Promise<void> {
    const { limiter, log, tokens } = this.#with;
    if (answer.usage.length === 0)
      answer.usage = await readUsage(limiter, container, holderOf(claims, tokens.registry));
    log.run(answer.run, container, claims.jti, error);
    answer.sendProblem(error);
  }
}

function abandonWithClient(response: ServerResponse, execution: Execution): void {
  if (response.destroyed) return execution.abandon();
  response.on("close", () => {
    if (!response.writableFinished) execution.abandon();
  });
}

interface Head {
  readonly container: string;
  readonly taskUrl: string | null;
}

function readHead(request: IncomingMessage, target: Target, segment: string): Head {
  const container = containerName(segment);
  const destination = request.headers["sec-fetch-dest"];
  if (typeof destination === "string" && REFUSED_DESTINATIONS.has(destination)) {
    throw new Problem("request_invalid", `a result is data; a page cannot load it as ${destination}`);
  }
  return { container, taskUrl: taskUrl(target.query) };
}

function authorize(claims: Claims, container: string): void {
  if (permitsContainer(claims, container) && permitsVerb(claims, "run")) return;
  throw new Problem("token_forbidden", "the token does not permit runs in this container");
}

function requireUrl(head: Head): null {
  if (head.taskUrl !== null) return null;
  throw new Problem("code_missing", "the request holds no code", {
    hint: "Send code as the request body, or name it with task_url.",
  });
}

/** Sends the run to the container's guest, or to the one that arrives for it. */
async function send(
  container: Container,
  code: Code,
  context: () => string,
  execution: Execution,
  answer: RunAnswer,
): Promise<true> {
  const nowMs = performance.now();
  const warm = container.warm(nowMs);
  const { guest, start } = warm ? { guest: warm, start: "warm" as const } : await container.arrive();
  answer.timing.start = start;
  answer.timing.sentMs = warm ? nowMs : performance.now();
  execution.begin(guest, guest.run(code, context, execution, answer.timing.sentMs));
  return true;
}
