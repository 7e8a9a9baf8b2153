import { bytesFrame } from "../wire/frames.ts";
import { ANSWERS_BY, type CodeMessage, type FaultMessage, FROM_GUEST } from "../wire/messages.ts";
import { compile, type Evaluation, type Reading } from "./compile.ts";
import { CodeFault, threwFault } from "./faults.ts";
import { beforeLeaving, send } from "./link.ts";
import { addModules, dropModules, faultOfModules } from "./modules.ts";
import { withNodeStacks } from "./node-stacks.ts";
import { withBody } from "./parse-body.ts";
import { isThenable, whenSettled } from "./promises.ts";
import { answer } from "./result.ts";
import type { Run } from "./run.ts";
import { outcomeOf } from "./shape.ts";
import type { Shape } from "./shapes/shape.ts";
import { forgetStart } from "./stack-positions.ts";
import { isDamaged } from "./tamper-check.ts";

const NativePromise = Promise;
const Bytes = Uint8Array;
const decoder = new TextDecoder();
const decode = decoder.decode.bind(decoder);

/**
 * Asks for another guest when a code has broken the tools that later ones need: nobody else would learn of it before they
 * fail. Once for all that came together, because a look takes as long as a small run, and in front of their answers, upon
 * which the service sends the next run.
 */
function look(): Buffer | null {
  return isDamaged() ? bytesFrame(FROM_GUEST.retire, 0) : null;
}

/**
 * One submitted code. It is evaluated at its first run: a function or a handler is kept, so that module state stays warm between runs; any
 * other value is the result of that run alone, and the next run evaluates again, because `Date.now()` is not the same twice.
 */
export class Code {
  readonly #id: number;
  #message: CodeMessage;
  #text: string;
  #reading: Reading | null = null;
  #fault: CodeFault | null = null;
  #shape: Shape | null = null;
  /** While the first evaluation awaits something: whoever else comes waits too, because it may leave a function to be kept. */
  #first: Promise<unknown> | null = null;
  /** What the service was told of it, the two bytes as one number. */
  #announced: number | null = null;
  #left = false;

  /** @param message Its bytes are read here; they need not stay. */
  constructor(id: number, message: CodeMessage) {
    this.#id = id;
    this.#text = decode(message.source).replace(/^#!/, "//");
    this.#message = { ...message, source: NONE };
    if (message.modules) addModules(id, message.modules);
  }

  /** Runs the code and sees to the answer. To be called inside `enterRun`. Throws what the code throws at once. */
  enter(run: Run): void {
    if (this.#message.parseOnly) this.#parse(run);
    else if (this.#shape) runShape(this.#shape, run);
    else this.#evaluate(run);
  }

  /** A run is over. After the first, which is when code does such things, it is looked whether it broke something. */
  leave(): void {
    if (this.#left) return;
    this.#left = true;
    beforeLeaving(look);
  }

  explain(fault: FaultMessage): FaultMessage {
    const { modules } = this.#message;
    const ofModule = modules && isOfLoading(fault) ? faultOfModules(this.#id, fault.error!.message) : null;
    if (ofModule) return ofModule.fault;
    const hint = fault.hint ?? this.#shape?.hintOf?.(fault);
    return hint === undefined ? fault : { ...fault, hint };
  }

  /** Lets go of what can be dropped. An ES module stays: V8 cannot unload one that Node's loader knows. */
  forget(): void {
    dropModules(this.#id);
    forgetStart(this.#id);
  }

  #evaluate(run: Run): void {
    // The frame's bytes are not ours any more when the evaluation has awaited something.
    run.keepRequest();
    if (this.#first)
      return whenSettled(
        this.#first,
        () => this.#retry(run),
        () => {},
      );
    const evaluation = this.#compiled()();
    if (!isThenable(evaluation.value)) return this.#conclude(run, evaluation, evaluation.value);
    const release = this.#announced === null ? this.#holdOthers(run) : () => {};
    whenSettled(
      evaluation.value,
      (value) => {
        release();
        attempt(run, () => this.#conclude(run, evaluation, value));
      },
      (error) => {
        release();
        run.fault(threwFault(error));
      },
    );
  }

  #parse(run: Run): void {
    whenSettled(
      this.#compiled().parse?.(),
      () => run.result("null"),
      (error) => run.fault(threwFault(error)),
    );
  }

  #compiled(): Reading {
    if (this.#fault) throw this.#fault;
    try {
      this.#reading ??= withNodeStacks(() => compile(this.#id, this.#message, this.#text));
      return this.#reading;
    } catch (error) {
      if (CodeFault.is(error)) this.#fault = error;
      throw error;
    } finally {
      this.#text = "";
    }
  }

  #holdOthers(run: Run): () => void {
    const { promise, resolve } = NativePromise.withResolvers<void>();
    this.#first = promise;
    const release = (): void => {
      this.#first = null;
      resolve();
    };
    // An evaluation that never ends must not hold the others for ever.
    run.onAbort = release;
    return release;
  }

  #retry(run: Run): void {
    if (!run.over) attempt(run, () => this.enter(run));
  }

  #conclude(run: Run, evaluation: Evaluation, value: unknown): void {
    const outcome = outcomeOf(evaluation, value);
    this.#shape = outcome.shape;
    this.#announce(outcome.shape);
    if (run.over) return;
    if (outcome.shape) runShape(outcome.shape, run);
    else answer(run, outcome.result);
  }

  #announce(shape: Shape | null): void {
    const needs = shape?.needsContext ? 1 : 0;
    const answersBy = shape ? ANSWERS_BY.indexOf(shape.answersBy) : 0;
    const announced = needs + 256 * answersBy;
    if (this.#announced === announced) return;
    this.#announced = announced;
    send(bytesFrame(FROM_GUEST.compiled, this.#id, Bytes.of(needs, answersBy)));
  }
}

const NONE = new Uint8Array();

function runShape(shape: Shape, run: Run): void {
  if (!run.incoming || !shape.needsContext || shape.streamsBody?.(run)) shape.run(run);
  else withBody(run, () => shape.run(run));
}

/** An `import()` that meets a module which does not parse: V8 tells no place of it, and not of the import either. */
function isOfLoading({ code, error }: FaultMessage): boolean {
  return code === "task_threw" && error?.name === "SyntaxError" && !error.stack?.includes("\n");
}

function attempt(run: Run, step: () => void): void {
  try {
    step();
  } catch (error) {
    run.fault(threwFault(error));
  }
}
