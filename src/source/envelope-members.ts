import { Problem } from "../errors.ts";
import type { MemberSeen } from "./json-scan.ts";

/** Names go to the guest's module loader: bounded, so that no envelope fills its table. */
const MAX_MODULES = 100;
/** Far more than there are, so that a few that are unknown are reported by name. */
const MAX_MEMBERS = 32;

/**
 * Counts the members of an envelope and its modules while they are scanned: half a million of them would keep the parser
 * and the validation busy for a second, in which no other request is served.
 *
 * @throws {Problem} `request_invalid`, from what it gives, at the first member too many.
 */
export function memberLimit(body: Buffer): MemberSeen {
  let members = 0;
  let modules = 0;
  let inModules = false;
  return (depth, start, end) => {
    if (depth === 1) {
      members += 1;
      if (members > MAX_MEMBERS) {
        throw tooMany(`${MAX_MEMBERS} members; code, data and modules are all that it takes`);
      }
      inModules = isModules(body, start, end);
    } else if (depth === 2 && inModules) {
      // Those of a second member of the same name are counted on: the parser builds them as well.
      modules += 1;
      if (modules > MAX_MODULES) throw tooMany(`${MAX_MODULES} modules`);
    }
  };
}

const NAME = '"modules"';
const ESCAPED_LENGTH = NAME.length + 5 * "modules".length;

function isModules(body: Buffer, start: number, end: number): boolean {
  if (end - start > ESCAPED_LENGTH) return false;
  // None of these letters has an escape but this one.
  const name = body.toString("latin1", start, end).replace(/\\u([\dA-Fa-f]{4})/g, (_, hex: string) => {
    return String.fromCharCode(Number.parseInt(hex, 16));
  });
  return name === NAME;
}

function tooMany(most: string): Problem {
  return new Problem("request_invalid", `the envelope has more than ${most}`);
}
