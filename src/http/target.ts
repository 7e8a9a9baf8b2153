import { Problem } from "../errors.ts";
import { DecodingBudget, holdsOwnToken, unescaped } from "./own-token.ts";

/** The request target (RFC 9112, section 3.2), split but not decoded. */
export interface Target {
  readonly path: string;
  readonly query: URLSearchParams;
  /** The query as the client sent it, without its question mark. */
  readonly search: string;
}

const NO_QUERY = new URLSearchParams();
/** The longest query that a path may keep in memory. A copy takes longer than most requests need for their target. */
const MOST_SHARED = 256;
const RESERVED = "task_";
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,127}$/;
const NAME_HINT =
  "A name has 1 to 128 of the characters A-Z a-z 0-9 _ . @ -; the first character is a letter, a digit or _.";

/** @param text a target in origin form, which `checkRequest` ensures */
export function parseTarget(text: string): Target {
  const mark = text.indexOf("?");
  if (mark < 0) return { path: text, query: NO_QUERY, search: "" };
  const search = text.slice(mark + 1);
  const path = text.slice(0, mark);
  return { path: mark + MOST_SHARED < text.length ? ownText(path) : path, query: new URLSearchParams(search), search };
}

/**
 * Returns a text that does not share memory with the text that it is a part of. The name of a container is kept for as long as
 * the records of its runs. V8 would keep the whole target with it, with a query of 16 KiB that no bound counts.
 */
export function ownText(part: string): string {
  return Buffer.from(part).toString();
}

/** @throws {Problem} `container_invalid` unless the segment, percent-decoded once, is a valid container name */
export function containerName(segment: string): string {
  const name = decode(segment);
  if (name !== null && NAME.test(name)) return name;
  throw new Problem(
    "container_invalid",
    `${JSON.stringify(name ?? segment).slice(0, 160)} is not a valid container name`,
    {
      hint: name === "{container}" ? "Put the name of your container in the place of {container}." : NAME_HINT,
    },
  );
}

/** @throws {Problem} `request_invalid` unless the segment, percent-decoded once, is a valid task name */
export function taskName(segment: string): string {
  const name = decode(segment);
  if (name !== null && isName(name)) return name;
  throw new Problem("request_invalid", `${JSON.stringify(name ?? segment).slice(0, 160)} is not a valid task name`, {
    hint: NAME_HINT,
  });
}

/** Whether the text is a valid name of a container or a task. */
export function isName(text: string): boolean {
  return NAME.test(text);
}

/** Returns the segment, percent-decoded once, or null if its escapes are not valid UTF-8. */
export function decode(segment: string): string | null {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

/**
 * Returns the `task_url` of a run's query, or null.
 *
 * @throws {Problem} `request_invalid` for any other name that begins with `task_`, so that a typo is reported
 */
export function taskUrl(query: URLSearchParams): string | null {
  if (query === NO_QUERY) return null;
  for (const name of query.keys()) {
    if (name.startsWith(RESERVED) && name !== "task_url") {
      throw new Problem(
        "request_invalid",
        `the query contains ${JSON.stringify(name)}, but names that begin with task_ are reserved`,
        {
          hint: /time/i.test(name)
            ? "POST /api/runs/{container}?timeout=5s runs code with a timeout."
            : "The only such name is task_url.",
        },
      );
    }
  }
  const urls = query.getAll("task_url");
  if (urls.length > 1) {
    throw new Problem(
      "request_invalid",
      `the query contains task_url ${urls.length} times; it may contain task_url once`,
    );
  }
  return urls[0] ?? null;
}

/**
 * Returns the target that the task receives: without the token and the other reserved parameters.
 *
 * @param ownsKey whether `key` is a parameter of the task: of a public task, which needs no token. It is left out
 *   nevertheless if it looks like a token of this service.
 */
export function publicTarget(target: Target, ownsKey: boolean = false): string {
  if (target.search === "") return target.path;
  const left = new DecodingBudget();
  const parts = target.search.split("&").filter((part) => !isReserved(part, ownsKey, left));
  return parts.length === 0 ? target.path : `${target.path}?${parts.join("&")}`;
}

/** Whether a query contains `key` with a token. @param ownsKey as for `publicTarget` */
export function holdsKey(query: URLSearchParams, ownsKey: boolean): boolean {
  const left = new DecodingBudget();
  return ownsKey ? query.getAll("key").some((key) => holdsOwnToken(key, left)) : query.has("key");
}

/** The most characters of a name that decide whether it is reserved, each of them escaped. */
const DECIDING = 3 * RESERVED.length;

function isReserved(part: string, ownsKey: boolean, left: DecodingBudget): boolean {
  const end = part.indexOf("=");
  const name = end < 0 ? part : part.slice(0, end);
  // Parts of the name may be escaped. Only its beginning is decoded, because a query may have thousands of parts.
  const beginning = unescaped(name.slice(0, DECIDING));
  if (beginning.startsWith(RESERVED)) return true;
  if (beginning !== "key") return false;
  return !ownsKey || holdsOwnToken(new URLSearchParams(part).get("key") ?? "", left);
}
