import { Problem } from "../../errors.ts";
import { isLabelName, type Labels, MAX_LABELS } from "../../labels.ts";

const HINT =
  "label=team selects what has the label, and label=team=billing what has it with this value; all must hold.";

/**
 * Reads the parameters `label` of a list.
 *
 * @returns whether labels satisfy all of them; null if the query has none
 * @throws {Problem} `request_invalid` if a name is not valid, or if there are too many
 */
export function labelFilter(query: URLSearchParams): ((labels: Labels) => boolean) | null {
  const wanted = query.getAll("label").map(readLabel);
  if (wanted.length === 0) return null;
  if (wanted.length > MAX_LABELS) {
    throw new Problem("request_invalid", `label may be repeated at most ${MAX_LABELS} times`, { hint: HINT });
  }
  return (labels) =>
    wanted.every(({ name, value }) => Object.hasOwn(labels, name) && (value === null || labels[name] === value));
}

function readLabel(text: string): { readonly name: string; readonly value: string | null } {
  const at = text.indexOf("=");
  const name = at < 0 ? text : text.slice(0, at);
  if (isLabelName(name)) return { name, value: at < 0 ? null : text.slice(at + 1) };
  const shown = JSON.stringify(name.slice(0, 100));
  throw new Problem("request_invalid", `label names ${shown}, which is not 1 to 32 of a-z 0-9 . _ -`, { hint: HINT });
}
