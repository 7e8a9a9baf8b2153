import type { CodeMessage } from "../wire/code-message.ts";
import { codeOfBody, codeOfStatements, parseAsExpression, parseStrippedModule } from "./compile.ts";
import { noteMap } from "./generated-maps.ts";
import { moduleUrl } from "./modules.ts";
import { type Compiled, isCompiled, parseBody } from "./parse.ts";
import type { ParsedCode } from "./parsed-code.ts";
import { noteShift } from "./stack-positions.ts";
import { inSource, type Stripped } from "./strip.ts";
import { explainedFault } from "./syntax-hints.ts";
import { inFile } from "./syntax.ts";
import type { GeneratedBody } from "./transform.ts";
import { withReturn } from "./unreturned.ts";

/**
 * Compiles JavaScript that the builder has made from a submitted text.
 *
 * @throws {CodeFault} `code_syntax`
 */
export function compileGenerated(
  codeId: number,
  { typescript, lastValue = false }: CodeMessage,
  text: string,
  generated: Stripped | GeneratedBody,
): ParsedCode {
  const name = typescript ? "task.ts" : "task.js";
  const url = moduleUrl(codeId, name);
  const { map } = generated;
  noteMap(codeId, name, map);
  const expression = "body" in generated ? expressionOf(codeId, generated, url) : null;
  if (expression) return codeOfBody(codeId, text, expression);
  const body = parseBody(generated.text, url);
  if (isCompiled(body)) return codeOfStatements(codeId, text, body, { url, lastValue, map });
  const module = "body" in generated ? body : parseStrippedModule(codeId, name, text, generated, body, lastValue);
  if (typeof module === "function") return module;
  throw inFile(name, explainedFault(text, inSource(generated, module)));
}

/** Compiles a body that is one expression, so that the body has its value. */
function expressionOf(codeId: number, { text, body }: GeneratedBody, url: string): Compiled | null {
  const expression = parseAsExpression(body, url);
  if (!expression || text === body) return expression;
  // What the builder has added stands in front of the expression.
  const returning = withReturn(text);
  const compiled = returning && parseBody(returning.text, url);
  if (!returning || !compiled || !isCompiled(compiled)) return null;
  if (returning.shift) noteShift(codeId, text, returning.shift.at, returning.shift.by);
  return compiled;
}
