import { distinctPrefixes, hasPrefix } from "../limits/prefixes.ts";
import type { Claims } from "./claims.ts";

/**
 * The containers that a token permits, prepared for many names: a list checks all containers of the service, and a token may
 * have a hundred patterns.
 */
export class ContainerPatterns {
  /** The beginnings of permitted names, in order. None begins with another. */
  readonly prefixes: readonly string[];
  /** The permitted names that no prefix covers. */
  readonly names: ReadonlySet<string>;

  constructor({ admin, containers }: Pick<Claims, "admin" | "containers">) {
    const patterns = admin ? ["*"] : containers;
    const prefixes = patterns.filter((pattern) => pattern.endsWith("*")).map((pattern) => pattern.slice(0, -1));
    this.prefixes = distinctPrefixes(prefixes);
    this.names = new Set(patterns.filter((name) => !name.endsWith("*") && !hasPrefix(this.prefixes, name)));
  }

  /** Returns what `permitsContainer` returns. */
  has(name: string): boolean {
    return this.names.has(name) || hasPrefix(this.prefixes, name);
  }
}
