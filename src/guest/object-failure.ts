import { isCompiled, parseExpression } from "./parse.ts";
import { isFurther, type SyntaxFailure } from "./syntax.ts";
import { withoutSemicolon } from "./trivia.ts";

/** A text that is an object and nothing else. */
const OBJECT = /^\s*\{\s*(?:"[^"\n]{1,64}"|'[^'\n]{1,64}')\s*:/;

/** Returns the failure of a text as an object, if the text begins like one: as a block, it fails at its first colon. */
export function objectFailure(text: string, url: string, body: SyntaxFailure): SyntaxFailure {
  if (!OBJECT.test(text)) return body;
  const object = parseExpression(withoutSemicolon(text), url);
  return !isCompiled(object) && isFurther(object, body) ? object : body;
}
