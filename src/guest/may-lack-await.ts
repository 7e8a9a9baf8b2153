/** Names of functions that are async in a text, at their declarations. */
const ASYNC =
  /\basync\s{1,9}function\s{0,9}\*?\s{0,9}([\w$]{1,64})|(?<![\w$])([\w$]{1,64})\s{0,9}[=:]\s{0,9}async\b|\basync\s{1,9}(?!function\b|fetch\b)([\w$]{1,64})\s{0,9}\(/g;
/** A call with what stands in front of it, which takes or passes on the promise. A declaration looks like a call. */
const CALL =
  /(?<![\w$]|(?<!\.\.)\.)(?:(await|return|yield|void|function|async|=>)\s{0,9}\*?\s{0,9})?(?:[\w$]{1,64}\s{0,9}\.\s{0,9}){0,9}([\w$]{1,64})\s{0,9}\(/g;
/** Promises of other functions than those of the text. */
const OTHERS = /\bfs\/promises\b|\.promises\b|\.json\(\)\s{0,9}\./;
/** The names and the calls that are looked at. Code with more is taken apart. */
const MAX_NAMES = 20;
const MAX_CALLS = 200;

/** Whether a text may use the promise of an async function like a value. Most texts await each call, and are not taken apart. Never throws. */
export function mayLackAwait(source: string): boolean {
  if (OTHERS.test(source)) return true;
  if (!source.includes("async") && !source.includes("fetch")) return false;
  const names = namesIn(source);
  if (names === null) return true;
  CALL.lastIndex = 0;
  for (let left = MAX_CALLS; left > 0; left -= 1) {
    const call = CALL.exec(source);
    if (!call) return false;
    if (call[1] === undefined && names.includes(` ${call[2]!} `)) return true;
  }
  return true;
}

/** Returns the names with spaces between them, or null if there are many. */
function namesIn(source: string): string | null {
  let names = " fetch ";
  ASYNC.lastIndex = 0;
  for (let left = MAX_NAMES; left > 0; left -= 1) {
    const found = ASYNC.exec(source);
    if (!found) return names;
    names += `${found[1] ?? found[2] ?? found[3]!} `;
  }
  return null;
}
