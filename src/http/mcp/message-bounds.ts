import { Problem } from "../../errors.ts";
import type { JsonVisitor, Span } from "../../source/json-scanner.ts";
import { nameAt } from "../../source/json.ts";

/**
 * The most members of an object outside of the arguments of a tool; the protocol has some ten. The implementation of the protocol
 * checks each several times, which takes microseconds.
 */
const MAX_OWN_MEMBERS = 128;
/** The most arguments of a tool, whose names the tool checks. */
const MAX_ARGUMENTS = 1_000;
/** The most members of all objects in the arguments, each of which takes a microsecond. */
const MAX_ARGUMENT_MEMBERS = 10_000;
/** The most JSON bytes outside of the arguments. Clients may send an icon. */
const MAX_OWN_BYTES = 64 * 2 ** 10;

/** The levels of the members of a message, of its params and of the arguments in them. */
const MESSAGE = 1;
const PARAMS = 2;
const ARGUMENTS = 3;

/**
 * Rejects a message that would take too long to check, before it is built. All bounds are on what no limit of runs has counted.
 *
 * @throws {Problem} `request_invalid`, from the visitor
 */
export function messageBounds(body: Buffer): Required<JsonVisitor> {
  const counts: number[] = [];
  let isInParams = false;
  let isInArguments = false;
  let argumentMembers = 0;
  let ownBytes = body.length;
  return {
    opened: (level) => (counts[level] = 0),
    named: (level, start, end) => {
      if (level === MESSAGE) isInParams = nameAt(body, { start, end }) === "params";
      if (level <= PARAMS)
        isInArguments = level === PARAMS && isInParams && nameAt(body, { start, end }) === "arguments";
      if (level > PARAMS && isInArguments) {
        argumentMembers += 1;
        if (argumentMembers > MAX_ARGUMENT_MEMBERS) {
          throw invalid(`the arguments have more than ${MAX_ARGUMENT_MEMBERS} members`);
        }
        if (level > ARGUMENTS) return;
        counts[level]! += 1;
        if (counts[level]! <= MAX_ARGUMENTS) return;
        throw invalid(`the tool has more than ${MAX_ARGUMENTS} arguments`);
      }
      counts[level]! += 1;
      if (counts[level]! > MAX_OWN_MEMBERS) {
        throw invalid(`an object of the message has more than ${MAX_OWN_MEMBERS} members`);
      }
    },
    member: (level: number, _: Span, { start, end }: Span) => {
      if (level === PARAMS && isInArguments) ownBytes -= end - start;
      // The params are the only long member of a message.
      if (level !== MESSAGE || ownBytes - (body.length - end) <= MAX_OWN_BYTES) return;
      throw invalid(`the message has more than ${MAX_OWN_BYTES} bytes in addition to the arguments of its tool`);
    },
  };
}

function invalid(detail: string): Problem {
  return new Problem("request_invalid", detail);
}
