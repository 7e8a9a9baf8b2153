/** The specifiers of submitted modules, as requests and tasks accept them. */

/** The maximum number of modules. It stops an envelope that fills the table of the guest's module loader. */
export const MAX_MODULES = 100;
const MAX_SPECIFIER_LENGTH = 256;

/** `./` and plain names. It excludes steps upwards and characters that a URL or a path would interpret. */
const SPECIFIER = /^\.(?:\/(?!\.{1,2}(?:\/|$))[^\p{Cc}\p{Cs}\s/\\?#%:]+)+$/u;

export const BAD_SPECIFIER: string = `is not a relative specifier such as "./lib.ts" of at most ${MAX_SPECIFIER_LENGTH} characters`;

/** The length is checked first, because the pattern overruns V8's stack on millions of path steps. */
export function isSpecifier(name: string): boolean {
  return name.length <= MAX_SPECIFIER_LENGTH && SPECIFIER.test(name);
}
