import { uncurry } from "../wire/uncurry.ts";
import { CodeFault, threwFault } from "./faults.ts";
import { whenSettled } from "./promises.ts";
import type { Run } from "./run.ts";

const { parse } = JSON;
const { create } = Object;
const { isArray } = Array;
const Query = URLSearchParams;
const decoder = new TextDecoder();
const decode = decoder.decode.bind(decoder);
const lowerCase = uncurry(String.prototype as string, "toLowerCase");
const find = uncurry(RegExp.prototype, "exec");
const JSON_TYPE = /^\s*application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/;
const FORM_TYPE = /^\s*application\/x-www-form-urlencoded\s*(?:;|$)/;

/** Has `step` called when all of the body is here and is read as the request says that it is. */
export function withBody(run: Run, step: () => void): void {
  whenSettled(
    run.incoming!.gather(),
    (bytes) => {
      try {
        run.setBody(bytes as Uint8Array, bodyOf(bytes as Uint8Array, typeOf(run)));
        step();
      } catch (error) {
        run.fault(threwFault(error));
      }
    },
    (error) => run.fault(threwFault(error)),
  );
}

/** Whether a body is a value rather than text or bytes. */
export function isValue(run: Run): boolean {
  const type = typeOf(run);
  return find(JSON_TYPE, type) !== null || find(FORM_TYPE, type) !== null;
}

function typeOf(run: Run): string {
  return lowerCase(run.request().headers["content-type"] ?? "");
}

function bodyOf(bytes: Uint8Array, type: string): unknown {
  if (bytes.length === 0) return undefined;
  // A byte-order mark is no part of it.
  const text = decode(bytes);
  if (find(FORM_TYPE, type)) return fieldsOf(text);
  if (!find(JSON_TYPE, type)) return text;
  try {
    return parse(text);
  } catch {
    throw new CodeFault("request_invalid", "the body is not JSON", { hint: "The request says that it is." });
  }
}

/** By name, those that came more than once as a list. */
function fieldsOf(text: string): Record<string, string | string[]> {
  // No field can be a member of Object.prototype.
  const fields = create(null) as Record<string, string | string[]>;
  new Query(text).forEach((value, name) => {
    const before = fields[name];
    if (before === undefined) fields[name] = value;
    else if (isArray(before)) before[before.length] = value;
    else fields[name] = [before, value];
  });
  return fields;
}
