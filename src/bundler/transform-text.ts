import { type Message, transform } from "esbuild";

import type { TransformText } from "./build-messages.ts";
import { esbuildMessages } from "./esbuild-messages.ts";
import { Failure } from "./failure.ts";

/** Names the submitted text in the source map. */
const SOURCE = "task";
const PARAMETER_DECORATOR = /Parameter decorators only work when experimental decorators are enabled/;

/** Returns the JavaScript of a text. @throws {Failure} `code_syntax` */
export async function transformed({ text, loader }: TransformText): Promise<string> {
  try {
    return await transformWith(text, loader, {});
  } catch (error) {
    const messages = esbuildMessages(error);
    if (!messages) throw error;
    if (!messages.some(({ text: why }) => PARAMETER_DECORATOR.test(why))) throw syntaxFailure(messages);
  }
  // Only the decorators of TypeScript before version 5 decorate parameters. Frameworks for dependency injection use them.
  try {
    return await transformWith(text, loader, { experimentalDecorators: true });
  } catch (error) {
    const messages = esbuildMessages(error);
    throw messages ? syntaxFailure(messages) : error;
  }
}

async function transformWith(text: string, loader: TransformText["loader"], options: object): Promise<string> {
  const { code } = await transform(text, {
    loader,
    target: "node24",
    charset: "utf8",
    sourcefile: SOURCE,
    sourcemap: "inline",
    sourcesContent: false,
    logLevel: "silent",
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: false, ...options } },
  });
  return code;
}

/** @param messages at least one */
function syntaxFailure([first]: readonly Message[]): Failure {
  const { text: why, location } = first!;
  if (!location) return new Failure("code_syntax", why);
  const { line, column, lineText } = location;
  return new Failure("code_syntax", `${why} (line ${line}, column ${column + 1})\n${shown(lineText, column)}`);
}

const SHOWN_CHARS = 100;

/** Returns a line of code with a caret. */
function shown(line: string, column: number): string {
  const start = Math.max(0, Math.min(column - SHOWN_CHARS / 2, line.length - SHOWN_CHARS));
  return `${line.slice(start, start + SHOWN_CHARS)}\n${" ".repeat(Math.max(0, column - start))}^`;
}
