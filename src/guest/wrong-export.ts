import { nearName } from "./near-name.ts";
import type { SyntaxFailure } from "./syntax.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 16 * 1024;
/** An export that is none of the language, nor of TypeScript. Its line begins with it, as no JavaScript does. */
const WRONG_EXPORT =
  /^[ \t]*export[ \t]+(?!(?:default|const|let|var|function|class|async[ \t]+function|type|interface|enum|abstract|declare|namespace|module|import|as)\b)(async\b|[A-Za-z_$][\w$]*|[([\d"'`])/m;
/** A default export of a statement. */
const OF_STATEMENT =
  /^[ \t]*export[ \t]+default[ \t]+(?:(const|let|var)[ \t]+([A-Za-z_$][\w$]{0,63})|(return|if|for|while|switch|throw|try|const|let|var)\b(?=[ \t]*[\w$"'`({[]))/m;

/** Returns the hint for an export that is none, or of which `default` is missing or misspelt; or null. V8 fails in its line, or gives no position. */
export function wrongExport(text: string, position: SyntaxFailure["position"]): string | null {
  if (text.length > MAX_CHARACTERS) return null;
  const statement = OF_STATEMENT.exec(text);
  if (statement && isInLine(text, statement.index, position)) {
    const [, kind, name, word] = statement;
    if (name !== undefined)
      return `An export default takes a value and no declaration: write ${kind} ${name} = ..., and then export default ${name}.`;
    if (word === "return") return "An export default takes the value itself: leave return out.";
    return "An export default takes a value or a function: write export default (context) => { ... } around the statements.";
  }
  const found = WRONG_EXPORT.exec(text);
  if (!found || !isInLine(text, found.index, position)) return null;
  const near = nearName(found[1]!, ["default", "const", "let", "var", "function", "class"]);
  return near === null
    ? "An export without a declaration needs default: write export default in front of the value."
    : `Did you mean export ${near}?`;
}

function isInLine(text: string, index: number, position: SyntaxFailure["position"]): boolean {
  return position === null || position.line === text.slice(0, index).split("\n").length;
}
