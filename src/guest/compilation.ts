import type { CodeMessage } from "../wire/code-message.ts";
import type { TransformedMessage, TransformMessage } from "../wire/transform.ts";
import { compileGenerated } from "./compile-generated.ts";
import { compile } from "./compile.ts";
import { CodeFault } from "./faults.ts";
import { replaceModule, textOfModule } from "./modules.ts";
import type { ParsedCode } from "./parsed-code.ts";
import type { Stripped } from "./strip.ts";
import { generatedBody, generatedModule, orderOf, ordersOfModules, rejectedText } from "./transform.ts";

type Needed = Omit<TransformMessage, "jsxImportSource">;

/** Thrown if texts of a code cannot be compiled before the service has made JavaScript from them. */
export class NeedsTransform extends Error {
  readonly #needed: Needed;

  constructor(needed: Needed) {
    super("texts need a transform");
    this.#needed = needed;
  }

  get needed(): Needed {
    return this.#needed;
  }

  /** Unlike `instanceof`, does not call traps of a thrown Proxy. */
  static is(error: unknown): error is NeedsTransform {
    return typeof error === "object" && error !== null && #needed in error;
  }
}

const { keys } = Object;

/** How one code becomes a function: in the guest, or with texts that the service makes from the submitted ones. */
export class Compilation {
  readonly #id: number;
  readonly #message: CodeMessage;
  #isAnswered = false;
  #generated: Stripped | null = null;

  /** @param message the code; its bytes are not used */
  constructor(id: number, message: CodeMessage) {
    this.#id = id;
    this.#message = message;
  }

  /** @throws {CodeFault | NeedsTransform} */
  compile(text: string): ParsedCode {
    if (this.#generated) return compileGenerated(this.#id, this.#message, text, this.#generated);
    const modules = this.#isAnswered ? {} : ordersOfModules(this.#message.modules);
    let parsed: ParsedCode | null = null;
    let main: Needed["main"] = null;
    try {
      parsed = compile(this.#id, this.#message, text);
    } catch (error) {
      if (this.#isAnswered || !CodeFault.is(error) || error.loader === null) throw error;
      main = orderOf(text, error.loader);
    }
    if (!parsed || keys(modules).length > 0) throw new NeedsTransform({ main, modules });
    return parsed;
  }

  /**
   * Takes the answer of the service.
   *
   * @param text the submitted text
   * @returns the fault of a text that the builder has rejected; null if the code can be compiled again
   */
  takeAnswer({ main, modules }: Needed, answer: TransformedMessage, text: string): CodeFault | null {
    this.#isAnswered = true;
    if ("fault" in answer) {
      const { fault, name } = answer as { fault: string; name: string | null };
      const submitted = name === null ? text : (textOfModule(this.#id, name.replace(/^\.\//, "")) ?? "");
      return rejectedText(fault, submitted, name === null && main?.isBody === true, name);
    }
    const specifiers = keys(answer.modules ?? {});
    for (let index = 0; index < specifiers.length; index += 1) {
      const specifier = specifiers[index]!;
      if (modules[specifier]) replaceModule(this.#id, specifier, generatedModule(answer.modules[specifier]!));
    }
    const made = answer.main ?? null;
    if (main && made !== null) this.#generated = (main.isBody ? generatedBody(made) : null) ?? generatedModule(made);
    return null;
  }
}
