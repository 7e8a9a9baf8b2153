import { escaped, isAsync } from "./unawaited.ts";
import { withoutTexts } from "./without-texts.ts";

/** The declarations that are looked at. */
const MAX_VARIABLES = 20;
/** The members of a Response. */
const OF_RESPONSE =
  /^(?:ok|status|statusText|headers|body|bodyUsed|redirected|type|url|json|text|blob|arrayBuffer|formData|bytes|clone|constructor|toString|valueOf|hasOwnProperty)$/;
const RESPONSE = /\b(?:const|let|var)\s+([A-Za-z_$][\w$]{0,63})\s*(?::[^=;\n]{1,80})?=\s*await\s+fetch\s*\(/g;
const PARTS = /\b(?:const|let|var)\s*\{\s*([A-Za-z_$][\w$]{0,63})\s*[,:}][^=;]{0,200}=\s*await\s+fetch\s*\(/;

/** A member that a text reads of the Response of `fetch`, and that no Response has. The variable is empty if none holds it. */
export interface ResponseMember {
  readonly variable: string;
  readonly member: string;
}

export function responseMember(source: string): ResponseMember | null {
  const text = withoutTexts(source);
  if (!isAsync(text, "fetch")) return null;
  const held = new RegExp(RESPONSE.source, "g");
  let left = MAX_VARIABLES;
  for (let found = held.exec(text); found && left > 0; found = held.exec(text)) {
    left -= 1;
    const variable = found[1]!;
    const own = escaped(variable);
    if (
      new RegExp(String.raw`(?<![\w$.]|[!=<>]=?|\b(?:const|let|var)\s)\b${own}\s*=(?!=)`).test(
        text.slice(found.index + found[0].length),
      )
    )
      continue;
    const reads = new RegExp(String.raw`(?<![\w$.])${own}\s*\.\s*([A-Za-z_$][\w$]{0,63})`, "g");
    for (let read = reads.exec(text); read; read = reads.exec(text)) {
      if (!OF_RESPONSE.test(read[1]!)) return { variable, member: read[1]! };
    }
  }
  const part = PARTS.exec(text)?.[1];
  return part === undefined || OF_RESPONSE.test(part) ? null : { variable: "", member: part };
}
