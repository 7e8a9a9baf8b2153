/** The members of an envelope that the documents name first. */
const MEMBERS = ["code", "data", "modules"];
/** A longer text is not parsed for a hint, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 64 * 1024;

const { keys } = Object;
const { parse } = JSON;

/** An envelope with the quotes of JavaScript, whose member is code. An object with another text in its member code may be a result. */
const NEARLY =
  /^\s*\{\s*(?:'code'|"code"|code)\s*:\s*(["'`])(?:(?!\1)[^])*(?:\breturn\s|=>)(?:(?!\1)[^])*\1\s*,?\s*\}\s*$/;
/** A longer text is not compared, because of the time. */
const MAX_NEARLY = 1_024;

/** Whether a text is the JSON of an envelope. As code, it is an expression whose value is that object. */
export function isEnvelope(text: string): boolean {
  if (text.length <= MAX_NEARLY && NEARLY.test(text)) return true;
  if (text.length > MAX_CHARACTERS || !/^\s*\{\s*"/.test(text) || !text.includes('"code"')) return false;
  try {
    const value = parse(text) as Record<string, unknown>;
    const names = keys(value);
    let isKnown = true;
    for (let index = 0; index < names.length; index += 1) isKnown &&= MEMBERS.includes(names[index]!);
    return isKnown && typeof value["code"] === "string";
  } catch {
    return false;
  }
}
