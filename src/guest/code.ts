import type { CodeMessage } from "../wire/code-message.ts";
import { bytesFrame } from "../wire/frames.ts";
import { ANSWERS_BY, type FaultMessage, FROM_GUEST } from "../wire/messages.ts";
import type { CacheOrder } from "../wire/package-message.ts";
import { asyncCallback } from "./async-callback.ts";
import { callbackCall } from "./callback-call.ts";
import { outcomeOf, withoutHandler } from "./code-outcome.ts";
import { usePackages } from "./code-packages.ts";
import { Compilation, NeedsTransform } from "./compilation.ts";
import type { Emptied } from "./emptied.ts";
import { type EmptyHints, emptyHintsOf } from "./empty-hints.ts";
import { betterHint, emptyHint, type EmptyResult, pathOf } from "./empty-result.ts";
import { hintOfFault } from "./fault-hints.ts";
import { CodeFault, isModuleLoadFault, threwFault } from "./faults.ts";
import { addModules, dropModules, faultOfModules } from "./modules.ts";
import { withNodeStacks } from "./node-stacks.ts";
import { packagesOf, type Packages } from "./packages.ts";
import { withBody } from "./parse-body.ts";
import type { Evaluation, ParsedCode } from "./parsed-code.ts";
import { printedThen } from "./printed-then.ts";
import { isThenable, whenSettled } from "./promises.ts";
import { answer } from "./result.ts";
import { RunGate } from "./run-gate.ts";
import type { Run } from "./run.ts";
import { probablyUsesContext } from "./scope-context.ts";
import { beforeSend, send } from "./service-link.ts";
import type { Shape } from "./shapes/shape.ts";
import { SourceTexts } from "./source-texts.ts";
import { forgetStart } from "./stack-positions.ts";
import { checkForTampering } from "./tamper-check.ts";
import { askForTransform } from "./transform.ts";

const Bytes = Uint8Array;
const decoder = new TextDecoder();
const decode = decoder.decode.bind(decoder);

/** The longest time that other runs of a code wait for its first evaluation: the first caller may choose how long it takes. */
const FIRST_MS = 50;

/**
 * One submitted code, evaluated at its first run. A function or a handler is kept, so that module state stays warm between
 * runs. Any other value is the result of that run only. The next run evaluates the code again, because `Date.now()` changes.
 */
export class Code {
  readonly #id: number;
  readonly packages: Packages | null;
  readonly #texts: SourceTexts;
  readonly #compilation: Compilation;
  #message: CodeMessage;
  #parsed: ParsedCode | null = null;
  #fault: CodeFault | null = null;
  #shape: Shape | null = null;
  /** Closed during the first evaluation, which may result in a function to keep, and while the service makes JavaScript. */
  readonly #gate = new RunGate();
  #isEvaluated = false;
  /** The last `compiled` frame that was sent, its two bytes as one number. */
  #announced: number | null = null;
  #hasEndedRun = false;
  #emptyHints: EmptyHints | null = null;
  /** Undefined until a run has a result. */
  #asyncCallback: Emptied | null | undefined;

  /** @param message The code; the constructor reads its bytes, so the caller may reuse them. */
  constructor(id: number, message: CodeMessage) {
    this.#id = id;
    this.#texts = new SourceTexts(id, decode(message.source).replace(/^#!/, "//"));
    this.#message = { ...message, source: NONE };
    this.#compilation = new Compilation(id, this.#message);
    if (message.modules) addModules(id, message.modules);
    this.packages = message.packagesId === undefined ? null : packagesOf(message.packagesId);
    if (this.packages) usePackages(id, this.packages, !message.parseOnly);
  }

  /** Runs the code and answers the run. Call it inside `enterRun`. Throws what the code throws synchronously. */
  enter(run: Run): void {
    try {
      this.#enter(run);
    } catch (error) {
      if (!NeedsTransform.is(error)) throw error;
      this.#transform(run, error);
    }
  }

  #enter(run: Run): void {
    if (this.#message.cachesPackages) answer(run, this.packages!.cached(run.request().body as CacheOrder));
    else if (this.#message.parseOnly) this.#parse(run);
    else if (this.#shape) runShape(this.#shape, run);
    // Known code that is not a function is not executed again.
    else if (run.isPreflight && this.#announced !== null) run.result("null");
    else this.#evaluate(run);
  }

  mayStall(hasSignal: boolean): boolean {
    // V8 calls the callbacks of these without the event loop. The signal of a fetch handler's request is always made.
    const words = hasSignal ? /signal|FinalizationRegistry|waitAsync/i : /FinalizationRegistry|waitAsync/;
    return (
      !words.test(this.#texts.main) &&
      !this.packages?.hasWord(words) &&
      !Object.values(this.#message.modules ?? {}).some((text) => words.test(text))
    );
  }

  /** Called when a run ends. Checks for tampering after the first run, which is when code usually replaces built-ins. */
  onRunEnd(): void {
    if (this.#hasEndedRun) return;
    this.#hasEndedRun = true;
    beforeSend(checkForTampering);
  }

  get asyncCallback(): Emptied | null {
    if (this.#asyncCallback === undefined) this.#asyncCallback = asyncCallback(this.#texts.main);
    return this.#asyncCallback;
  }

  betterHint(hint: Emptied, value: unknown, run: Run): Emptied | null {
    return betterHint(this.#result(run), hint, value);
  }

  emptyHint(value: unknown, run: Run): Emptied | null {
    return emptyHint(this.#result(run), value);
  }

  #result(run: Run): EmptyResult {
    return { run, text: this.#texts.main, parsed: this.#parsed, shape: this.#shape, hints: () => this.#hints() };
  }

  #hints(): EmptyHints {
    return (this.#emptyHints ??= emptyHintsOf(this.#texts.main));
  }

  explain(fault: FaultMessage, run: Run): FaultMessage {
    const { modules } = this.#message;
    const moduleFault = modules && isModuleLoadFault(fault) ? faultOfModules(this.#id, fault.error!.message) : null;
    if (moduleFault) return moduleFault.fault;
    const located = this.#texts.located(fault);
    const hint = hintOfFault(this.#texts.main, fault, located, run, this.#shape);
    return hint === undefined ? located : { ...located, hint };
  }

  asPrinted(text: string): string {
    return this.#texts.asPrinted(text);
  }

  /** Frees what can be freed. An ES module stays in memory, because V8 cannot unload a module that Node's loader holds. */
  forget(): void {
    dropModules(this.#id);
    forgetStart(this.#id);
  }

  #evaluate(run: Run): void {
    // The frame's bytes are reused after this call, and the evaluation may be asynchronous.
    run.keepRequest();
    if (this.#gate.holds(run, () => this.#retry(run))) return;
    const parsed = this.#compiled();
    // Code in whose scope the context is cannot wait for the body, as a function can.
    const wantsBody = parsed.takesContext && run.requestBody !== null && run.rawBody === null;
    if (wantsBody && probablyUsesContext(parsed.text)) return withBody(run, () => this.#evaluate(run));
    const evaluation = parsed();
    if (!isThenable(evaluation.value)) return this.#conclude(run, evaluation, evaluation.value);
    const release = this.#isEvaluated ? () => {} : this.#gate.close(run, FIRST_MS);
    this.#isEvaluated = true;
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

  /** Lets the service make JavaScript of texts, and enters the run again. Other runs of the code wait meanwhile. */
  #transform(run: Run, { needed }: NeedsTransform): void {
    run.keepRequest();
    if (this.#gate.holds(run, () => this.#retry(run))) return;
    const release = this.#gate.close(run);
    run.onTransformed = (made) => {
      run.onTransformed = null;
      this.#fault = this.#compilation.takeAnswer(needed, made, this.#texts.main);
      release();
      attempt(run, () => this.enter(run));
    };
    askForTransform(run, needed, this.packages);
  }

  #parse(run: Run): void {
    const parsed = this.#compiled();
    const fault = this.#message.modules && faultOfModules(this.#id);
    if (fault) throw fault;
    whenSettled(
      parsed.parse(),
      () => {
        const lacking = withoutHandler(this.#texts.main);
        if (lacking) run.fault(lacking.fault);
        else run.result("null");
      },
      (error) => run.fault(threwFault(error)),
    );
  }

  #compiled(): ParsedCode {
    if (this.#fault) throw this.#fault;
    try {
      if (this.#parsed) return this.#parsed;
      this.#parsed = withNodeStacks(() => this.#compilation.compile(this.#texts.main));
      this.#texts.main = this.#parsed.text;
      return this.#parsed;
    } catch (error) {
      if (CodeFault.is(error)) {
        this.#fault = error;
        this.#texts.main = "";
      }
      throw error;
    }
  }

  #retry(run: Run): void {
    attempt(run, () => this.enter(run));
  }

  #conclude(run: Run, evaluation: Evaluation, value: unknown): void {
    const outcome = outcomeOf(evaluation, value);
    const shape =
      this.#parsed!.takesContext && outcome.shape ? { ...outcome.shape, needsContext: true } : outcome.shape;
    // Another run may have evaluated the code meanwhile. All further runs share its module state.
    this.#shape ??= shape;
    this.#isEvaluated = true;
    this.#announce(this.#shape);
    if (run.over) return;
    if (outcome.shape === null) this.#answer(run, outcome.result);
    else runShape(this.#shape!, run);
  }

  #answer(run: Run, result: unknown): void {
    if (run.isPreflight) return run.result("null");
    const { hint, unreturned } = this.#parsed!;
    if (hint) run.reportHint(hint.hint, hint.path);
    else if (result === undefined) {
      const line = unreturned?.() ?? null;
      const silent = line === null ? null : this.#hints().silentCall();
      const called =
        silent || line === null ? null : (callbackCall(this.#texts.main, line) ?? printedThen(this.#texts.main, line));
      if (silent) run.reportHint("noValue", pathOf(silent));
      else if (called) run.reportHint(called.hint, called.path);
      else if (line !== null && this.#hints().nothing !== "stdin") run.reportUnreturned(line);
    }
    answer(run, result);
  }

  #announce(shape: Shape | null): void {
    const needs = (shape?.needsContext ?? this.#parsed!.takesContext) ? 1 : 0;
    const answersBy = shape ? ANSWERS_BY.indexOf(shape.answersBy) : 0;
    const announced = needs + 256 * answersBy;
    if (this.#announced === announced) return;
    this.#announced = announced;
    send(bytesFrame(FROM_GUEST.compiled, this.#id, Bytes.of(needs, answersBy)));
  }
}

const NONE = new Uint8Array();

function runShape(shape: Shape, run: Run): void {
  if (run.isPreflight && shape.answersBy !== "fetch") run.result("null");
  else if (!run.requestBody || run.rawBody || !shape.needsContext || shape.streamsBody?.(run)) shape.run(run);
  else withBody(run, () => shape.run(run));
}

function attempt(run: Run, step: () => void): void {
  try {
    step();
  } catch (error) {
    run.fault(threwFault(error));
  }
}
