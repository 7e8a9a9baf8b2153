/** Words that a shell passes as they are, so that the user can type the suggestion. */
const PLAIN = /^[\w@.:/*-]+$/;

/** Returns the fault of a flag whose text is no pair, with the pair that the user probably meant. @param form of a pair */
export function notPair(flag: string, text: string, form: string): string {
  const pair = pairMeant(flag, text);
  return `${flag} ${JSON.stringify(text)} is not ${form}${pair === null ? "" : `; did you mean ${flag} ${pair}?`}`;
}

/** Returns the pair for a text such as `plan:pro`, or for a text whose value is the next word of the command line; null for none. */
export function pairMeant(flag: string, text: string): string | null {
  if (!PLAIN.test(text)) return null;
  const [, key, value] = /^([^:]+):(.+)$/.exec(text) ?? [];
  if (key !== undefined) return `${key}=${value}`;
  const words = process.argv;
  const at = words.findIndex((word, index) => word === flag && words[index + 1] === text);
  const next = at === -1 ? undefined : words[at + 2];
  return next === undefined || next.startsWith("-") || !PLAIN.test(next) ? null : `${text}=${next}`;
}

/**
 * Returns a question for a surplus word that is the value of a pair, such as `pro` in `--param plan pro`, or null.
 *
 * @param flags the flags that take pairs
 */
export function surplusPair(flags: readonly string[], surplus: string): string | null {
  const [flag = "", key = ""] = process.argv.slice(process.argv.lastIndexOf(surplus) - 2);
  const pair = flags.includes(flag) && !key.includes("=") ? pairMeant(flag, key) : null;
  return pair === null ? null : `did you mean ${flag} ${pair}?`;
}
