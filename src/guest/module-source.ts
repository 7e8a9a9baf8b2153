import { findJsonFault } from "../wire/json-fault.ts";
import { CodeFault } from "./faults.ts";
import { checkModule } from "./module-check.ts";
import { isCompiled, parseBody } from "./parse.ts";
import { safeName } from "./source-names.ts";
import { inSource, isStripped, strip, type Stripped } from "./strip.ts";
import { explainedFault } from "./syntax-hints.ts";
import { inFile, syntaxFault } from "./syntax.ts";

/** A submitted module. */
interface ModuleText {
  readonly text: string;
  readonly typescript: boolean;
  /** JavaScript that was made from the text. */
  readonly generated?: Stripped;
}

const { parse } = JSON;

/** Returns the syntax error of a submitted module, or null. */
export function faultOfModule({ text, typescript, generated }: ModuleText, name: string): CodeFault | null {
  try {
    const bare = generated ?? (typescript ? stripModule(text, name) : { text, map: null });
    const failure = formatOf(bare.text) === "module" ? checkModule(bare.text) : null;
    return failure && inModule(name, explainedFault(text, inSource(bare, failure)));
  } catch (error) {
    return CodeFault.is(error) ? error : null;
  }
}

/** @throws {CodeFault} that names the module. */
export function stripModule(text: string, name: string): Stripped {
  try {
    const result = strip("", text, "");
    if (isStripped(result)) return result;
    throw explainedFault(text, result);
  } catch (error) {
    throw CodeFault.is(error) ? inModule(name, error) : error;
  }
}

/** Checks JSON before Node does, because Node gives no position in a short text. @throws {CodeFault} that names the module. */
export function checkJson(text: string, name: string): void {
  const bare = text.replace(/^\uFEFF/, "");
  try {
    parse(bare);
  } catch {
    const { what, ...position } = findJsonFault(bare);
    throw inModule(name, syntaxFault(bare, { message: `${what} in JSON`, position }));
  }
}

function inModule(name: string, fault: CodeFault): CodeFault {
  return inFile(safeName(name), fault, `${name}: ${fault.fault.detail}`);
}

/** Returns the format of a submitted module. */
export function formatOf(text: string): "module" | "commonjs" {
  return /\bexports\b/.test(text) && isCompiled(parseBody(text, "module.js")) ? "commonjs" : "module";
}
