/** The members of an envelope that the documents name first. */
const MEMBERS = ["code", "data", "modules"];
/** A longer text is not parsed for a hint, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 64 * 1024;

const { keys } = Object;
const { parse } = JSON;

/** Whether a text is the JSON of an envelope. As code, it is an expression whose value is that object. */
export function isEnvelope(text: string): boolean {
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
