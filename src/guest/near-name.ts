import { distance } from "../wire/distance.ts";

/** The names that are compared with a wrong one. */
const MAX_NAMES = 1_000;
const MAX_NAME_CHARACTERS = 48;

/** Returns the name that another one probably is a misspelling of, or null. */
export function nearName(name: string, names: readonly string[]): string | null {
  if (name.length > MAX_NAME_CHARACTERS || name.length < 2) return null;
  let best: string | null = null;
  let least = name.length < 3 ? 1 : name.length < 6 ? 2 : 3;
  for (let index = 0; index < names.length && index < MAX_NAMES; index += 1) {
    const other = names[index]!;
    if (other === name || Math.abs(other.length - name.length) >= least || other.length < 2) continue;
    const differs = distance(name.toLowerCase(), other.toLowerCase());
    if (differs >= least || other.length > MAX_NAME_CHARACTERS) continue;
    [best, least] = [other, differs];
  }
  return best;
}
