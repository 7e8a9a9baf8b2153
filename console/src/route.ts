import { computed, signal } from "@preact/signals";

/** A page and what it shows, from the fragment: `#/containers/acme?status=threw`. */
export interface Route {
  readonly page: string;
  readonly names: readonly string[];
  readonly query: URLSearchParams;
}

const fragment = signal(placeOf(location.hash));
addEventListener("hashchange", () => (fragment.value = placeOf(location.hash)));

/** A token in the fragment is not a place. It must not come back into the address with a change of the query. */
function placeOf(hash: string): string {
  return hash.startsWith("#token=") ? "" : hash;
}

export const route = computed((): Route => {
  const [path = "", query = ""] = fragment.value.replace(/^#\/?/, "").split("?");
  const [page = "", ...names] = path.split("/").map(decoded);
  return { page: page === "" ? "overview" : page, names, query: new URLSearchParams(query) };
});

/** Returns the link to a page. */
export function linkTo(
  page: string,
  names: readonly string[] = [],
  query: Readonly<Record<string, string>> = {},
): string {
  const path = [page, ...names.map(encodeURIComponent)].join("/");
  const text = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "")).toString();
  return `#/${path}${text === "" ? "" : `?${text}`}`;
}

export function goTo(link: string): void {
  location.hash = link;
}

/** Changes the query of this page without a new entry in the history. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const { page, names, query } = route.value;
  const next = { ...Object.fromEntries(query), ...changes };
  history.replaceState(null, "", linkTo(page, names, next));
  fragment.value = location.hash;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
