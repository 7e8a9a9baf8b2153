import { withoutTexts } from "./without-texts.ts";

/** A member that a text reads of a Map or a Set, and that neither has. */
export interface CollectionMember {
  readonly kind: "Map" | "Set";
  readonly member: string;
  /** The variable that holds the Map or the Set; null if none does. */
  readonly variable: string | null;
}

/** The variables that are looked at. Each takes a search of the whole text. */
const MAX_VARIABLES = 20;
const HELD = /\bconst\s+([A-Za-z_$][\w$]{0,63})\s*(?::[^=;\n]{1,80})?=\s*new\s+(Map|Set)\b/g;
/** The length of what was just made. */
const LENGTH = /\bnew\s+(Map|Set)\s*\([^()]{0,200}(?:\([^()]{0,200}\)[^()]{0,200}){0,3}\)\s*\.\s*length\b/;
const { getOwnPropertyNames } = Object;
const known: readonly string[] = [Map.prototype, Set.prototype, Object.prototype].flatMap((each) =>
  getOwnPropertyNames(each),
);

/** Returns a member that a text reads of a Map or a Set of its code, and that neither has; null if there is none. */
export function collectionMember(source: string): CollectionMember | null {
  if (!/\bnew\s+(?:Map|Set)\b/.test(source)) return null;
  const text = withoutTexts(source);
  const made = LENGTH.exec(text)?.[1];
  if (made !== undefined) return { kind: made as "Map" | "Set", member: "length", variable: null };
  const held = new RegExp(HELD.source, "g");
  let left = MAX_VARIABLES;
  for (let found = held.exec(text); found && left > 0; found = held.exec(text)) {
    left -= 1;
    const [, variable, kind] = found;
    const own = variable!.replaceAll("$", "\\$");
    // Another variable or parameter of this name may hold something else.
    if (
      text.match(new RegExp(String.raw`(?:[(,{[]|\b(?:const|let|var))\s*${own}\s*(?:[,)}\]=:]|=>)`, "g"))?.length !== 1
    )
      continue;
    const reads = new RegExp(String.raw`(?<![\w$.])${own}\s*\.\s*([A-Za-z_$][\w$]{0,63})(?![\w$(])(\s*=(?!=))?`, "g");
    for (let read = reads.exec(text); read; read = reads.exec(text)) {
      if (read[2] !== undefined) break;
      if (!known.includes(read[1]!)) return { kind: kind as "Map" | "Set", member: read[1]!, variable: variable! };
    }
  }
  return null;
}
