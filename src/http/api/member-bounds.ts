import { Problem } from "../../errors.ts";
import type { JsonVisitor } from "../../source/json-scanner.ts";
import { nameAt } from "../../source/json.ts";

/** The most members of an object. The objects of the HTTP API have fewer, so a few unknown members are reported by name. */
const MAX_MEMBERS = 128;
/** The member whose values callers may choose. */
const FREE = "params";
/** The length of its name with each letter escaped. */
const LONGEST_NAME = '"params"'.length + 5 * FREE.length;

/**
 * Rejects objects that would take too long to check, before they are built. No valid body has such an object, except in the
 * values of `params`.
 *
 * @throws {Problem} `request_invalid`, from the visitor
 */
export function memberBounds(body: Buffer): Required<Pick<JsonVisitor, "opened" | "named">> {
  const counts: number[] = [];
  let isFree = false;
  return {
    opened: (depth) => (counts[depth] = 0),
    named: (depth, start, end) => {
      if (depth === 1) isFree = end - start <= LONGEST_NAME && nameAt(body, { start, end }) === FREE;
      else if (depth > 2 && isFree) return;
      counts[depth]! += 1;
      if (counts[depth]! <= MAX_MEMBERS) return;
      throw new Problem("request_invalid", `an object of the body has more than ${MAX_MEMBERS} members`);
    },
  };
}
