import { Problem } from "../errors.ts";

/** The request target (RFC 9112, section 3.2), cut but not decoded. */
export interface Target {
  readonly path: string;
  readonly query: URLSearchParams;
  /** The query as it came, without its question mark. */
  readonly search: string;
}

const NO_QUERY = new URLSearchParams();
const RESERVED = "task_";
const CONTAINER_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,127}$/;

/** @param text in origin form, which `checkRequest` sees to. */
export function parseTarget(text: string): Target {
  const mark = text.indexOf("?");
  if (mark < 0) return { path: text, query: NO_QUERY, search: "" };
  const search = text.slice(mark + 1);
  return { path: text.slice(0, mark), query: new URLSearchParams(search), search };
}

/** @throws {Problem} `container_invalid` unless the segment, percent-decoded once, is a container's name. */
export function containerName(segment: string): string {
  const name = decode(segment);
  if (name !== null && CONTAINER_NAME.test(name)) return name;
  throw new Problem("container_invalid", `${JSON.stringify(name ?? segment).slice(0, 160)} is not a container name`, {
    hint: "1 to 128 of the characters A-Z a-z 0-9 _ . @ -, the first of them a letter, a digit or _.",
  });
}

/** @throws {Problem} `request_invalid` unless the segment, percent-decoded once, can be a task's name. */
export function taskName(segment: string): string {
  const name = decode(segment);
  if (name !== null && isName(name)) return name;
  throw new Problem("request_invalid", `${JSON.stringify(name ?? segment).slice(0, 160)} is not the name of a task`, {
    hint: "1 to 128 of the characters A-Z a-z 0-9 _ . @ -, the first of them a letter, a digit or _.",
  });
}

/** Whether a container or a task can have that name. */
export function isName(text: string): boolean {
  return CONTAINER_NAME.test(text);
}

/** The segment percent-decoded once, or null when its escapes are not UTF-8. */
export function decode(segment: string): string | null {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

/**
 * The `task_url` of a run's query, or null.
 *
 * @throws {Problem} `request_invalid` for a reserved name that means nothing, so that a typo is never silent.
 */
export function taskUrl(query: URLSearchParams): string | null {
  if (query === NO_QUERY) return null;
  for (const name of query.keys()) {
    if (name.startsWith(RESERVED) && name !== "task_url") {
      throw new Problem(
        "request_invalid",
        `the query has ${JSON.stringify(name)}, and names that begin task_ are reserved`,
        {
          hint: "task_url is the only one there is.",
        },
      );
    }
  }
  const urls = query.getAll("task_url");
  if (urls.length > 1)
    throw new Problem("request_invalid", `task_url is given ${urls.length} times, and may be given once`);
  return urls[0] ?? null;
}

/** The target as a task may see it: without the token and the other reserved parameters. */
export function publicTarget(target: Target): string {
  if (target.search === "") return target.path;
  const kept = target.search.split("&").filter((part) => !isReserved(part));
  return kept.length === 0 ? target.path : `${target.path}?${kept.join("&")}`;
}

function isReserved(part: string): boolean {
  // The name may be escaped in part; judged by the same decoder that read it.
  const name = new URLSearchParams(`&${part}`).keys().next().value ?? "";
  return name === "key" || name.startsWith(RESERVED);
}
