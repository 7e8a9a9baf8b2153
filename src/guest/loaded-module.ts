import { CodeFault } from "./faults.ts";
import type { GeneratedMap } from "./generated-maps.ts";
import { grammarHint } from "./grammar-hints.ts";
import { isDuplicate, moduleFault } from "./module-check.ts";
import { checkRequires, faultOfModules, importText, moduleUrl, namesOfModule, parseText } from "./modules.ts";
import { withNodeStacks } from "./node-stacks.ts";
import type { Evaluation, ParsedCode } from "./parsed-code.ts";
import { onRejection } from "./promises.ts";
import { isOfParser } from "./stack-frames.ts";
import { inSource } from "./strip.ts";
import { inFile, syntaxFailure, syntaxFault } from "./syntax.ts";

/** A module that Node's loader loads. */
interface ModuleText {
  readonly name: string;
  /** The submitted text. */
  readonly text: string;
  /** The text without types. */
  readonly bare: string;
  readonly map: GeneratedMap | null;
}

/** @param knownFault The fault to report if the module does not load; null if no earlier check found one. */
export function codeOfModule(codeId: number, module: ModuleText, knownFault: CodeFault | null): ParsedCode {
  const { name, text, bare } = module;
  const asFault = (error: unknown): unknown => {
    const known = asLoadFault(error, codeId, module, knownFault);
    return CodeFault.is(known) && known.fault.at?.file === "task.js" ? inFile(name, known) : known;
  };
  let loaded: Promise<unknown> | null = null;
  let attempt = 0;
  const evaluate = (): Evaluation => {
    loaded ??= onRejection(importText(moduleUrl(codeId, name, attempt), bare), (error) => {
      // A module that threw stays broken under its URL, so the next run loads it under another URL. A body is evaluated again too.
      loaded = null;
      attempt += 1;
      throw asFault(error);
    });
    return { module: null, exports: null, value: loaded };
  };
  const parse = (): Promise<unknown> => {
    checkRequires(bare, moduleUrl(codeId, name));
    attempt += 1;
    return onRejection(parseText(moduleUrl(codeId, name, attempt), bare), (error) => {
      throw asFault(error);
    });
  };
  return Object.assign(evaluate, { text, parse, takesContext: false });
}

/** Converts an error of loading a module to a `CodeFault`. Returns errors that the module's code throws unchanged. */
function asLoadFault(error: unknown, codeId: number, module: ModuleText, knownFault: CodeFault | null): unknown {
  if (!(error instanceof SyntaxError)) return error;
  const { text, bare, map } = module;
  const stack = withNodeStacks(() => String(error.stack));
  // A linking error has its position before the stack. A parse error comes from the loader itself.
  if (/^task:\/[\d.]+\/task\.[jt]s:/.test(stack)) {
    const failure = inSource({ text: bare, map }, syntaxFailure(error, bare, ""));
    return syntaxFault(
      text,
      failure,
      grammarHint(text, failure, (specifier) => namesOfModule(codeId, specifier)),
    );
  }
  if (!isOfParser(error)) return error;
  // The approximate check finds another fault, at a word that it has written itself.
  if (isDuplicate(error.message)) return moduleFault(map ? text : bare, error.message);
  return knownFault ?? faultOfModules(codeId) ?? moduleFault(map ? text : bare, error.message);
}
