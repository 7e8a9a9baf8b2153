/** A registry of packages. */
export interface Registry {
  /** Its address, such as `https://registry.example/npm/`. */
  readonly url: URL;
  /** The credential for it, which goes to its own origin only; null for none. */
  readonly token: string | null;
}

/** The registries of a service. */
export interface Registries {
  readonly registry: Registry;
  /** The registries of scopes such as `@acme`. */
  readonly scopes: ReadonlyMap<string, Registry>;
}

/**
 * Returns the only registry that is asked for a package. A scope with its own registry is never asked of the default one, where
 * a stranger could register a package with the same name.
 */
export function registryOf(name: string, { registry, scopes }: Registries): Registry {
  // A registry may take `@Acme/tools` for another package than `@acme/tools`.
  const scope = /^(@[^/]+)\//.exec(name)?.[1]?.toLowerCase();
  return (scope === undefined ? undefined : scopes.get(scope)) ?? registry;
}

/** Returns the URL of the description of a package. */
export function packumentUrl(name: string, { url }: Registry): URL {
  return new URL(name.replace("/", "%2f"), baseOf(url));
}

/**
 * Returns the URL of a tarball, or null if the place is not one of this version of this package. A builder that was taken over must
 * not send the credential of the registry to other pages of its host.
 *
 * @param place the URL of a description, or a path below the registry.
 */
export function tarballUrl(name: string, version: string, place: string, { url }: Registry): URL | null {
  const base = baseOf(url);
  const found = URL.parse(place, base.href);
  if (found === null || found.username !== "" || found.password !== "" || !/^https?:$/.test(found.protocol))
    return null;
  // A mirror may state the addresses of the registry that it mirrors.
  const path = found.origin === base.origin ? below(found.pathname, base.pathname) : found.pathname.slice(1);
  if (path === null || !isPlaceOf(name, version, path)) return null;
  const result = new URL(path, base);
  result.search = found.search;
  return result.href.startsWith(base.href) ? result : null;
}

/** The address with a slash at its end, so that paths are below it. */
function baseOf(url: URL): URL {
  const base = new URL(url);
  base.search = "";
  base.hash = "";
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  return base;
}

function below(path: string, base: string): string | null {
  return path.startsWith(base) ? path.slice(base.length) : null;
}

/** The places of tarballs: `NAME/-/FILE`, and `download/NAME/VERSION/DIGEST` at one known host. Both name the version. */
function isPlaceOf(name: string, version: string, path: string): boolean {
  let plain: string;
  try {
    plain = decodeURIComponent(path);
  } catch {
    return false;
  }
  const place = plain.startsWith("download/") ? plain.slice("download/".length) : plain;
  const isClean = /^[A-Za-z0-9@._~+/-]+$/.test(plain) && !plain.split("/").some((part) => /^\.*$/.test(part));
  const [numbers = version] = version.split("+");
  return isClean && place.startsWith(`${name}/`) && place.slice(name.length).includes(numbers);
}
