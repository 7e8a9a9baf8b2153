import type { TaskCode } from "./task-code.ts";

/** The characters of code after the word that show whether it is defined there. */
const SHOWN_CHARACTERS = 512;
/** The most places that are looked at in all texts. Hostile code may contain the word any number of times. */
const MAX_PLACES = 1_000;
const WORD = "fetch";
/** A method `fetch(request) {`, with types too; a member or a field `fetch`; not a call `fetch(url)`. */
const DEFINED =
  /^fetch["']?(?:\s{0,20}\([^)]{0,300}\)\s{0,20}(?::\s{0,20}[A-Za-z][^;{}()=?]{0,100})?\{|\s{0,20}(?::|=(?!=)|[,}]))/;

/**
 * Whether code may define a fetch handler. Only its text is looked at: the answer is wrong at most for unusual code, and then
 * the guest that evaluates the code decides.
 */
export function mayHandleFetch({ code, modules }: TaskCode): boolean {
  let places = 0;
  for (const text of [code, ...Object.values(modules ?? {})]) {
    for (let at = text.indexOf(WORD); at !== -1; at = text.indexOf(WORD, at + WORD.length)) {
      places += 1;
      if (places > MAX_PLACES || DEFINED.test(text.slice(at, at + SHOWN_CHARACTERS))) return true;
    }
  }
  return false;
}
