/** False if the text begins with a word that starts a statement. This saves the 30 µs that V8 takes to reject most bodies. */
export function mayBeExpression(text: string): boolean {
  const start = triviaLength(text);
  return !STATEMENT.test(text.slice(start, start + LONGEST_WORD));
}

const STATEMENT = /^(?:const|return|if|for|while|throw|try|switch|var|export|import(?!\s*[(.]))(?![\w$])/;
const LONGEST_WORD = 32;

/** Returns a text without the semicolon at its end. */
export function withoutSemicolon(text: string): string {
  const trimmed = text.trimEnd();
  return trimmed.endsWith(";") ? trimmed.slice(0, -1) : text;
}

/** Whether a text has no token. */
export function isTrivia(text: string): boolean {
  return triviaLength(text) === text.length;
}

/** Returns the length of the white space, comments and semicolons at the start of a text. */
export function triviaLength(text: string): number {
  // A sticky pattern matches one token after the other, so every text takes linear time.
  const token = /\s+|;|\/\/.*|\/\*[^]*?\*\//y;
  let length = 0;
  while (token.test(text)) length = token.lastIndex;
  return length;
}
