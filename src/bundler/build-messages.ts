/** What the service and the program in the builder exchange. The service treats each answer as hostile input. */

export type Order = BuildMessage | TransformMessage;

export interface BuildMessage {
  readonly do: "build";
  /** Ranges and tags by the names of packages. */
  readonly ranges: Readonly<Record<string, string>>;
  readonly entries: readonly string[];
  /** The packages and the roots of an earlier lock, or null. */
  readonly from: {
    readonly packages: readonly BuiltPackage[];
    readonly roots: Readonly<Record<string, string>>;
  } | null;
  /** The names of packages whose versions in `from` do not count. */
  readonly update: readonly string[];
  /** The time after which a version was published too lately, in Unix milliseconds; null if every version counts. */
  readonly beforeMs: number | null;
}

export interface TransformMessage {
  readonly do: "transform";
  /** The texts of one code. */
  readonly texts: readonly TransformText[];
}

export interface TransformText {
  readonly text: string;
  readonly loader: "ts" | "tsx" | "jsx";
}

/** The same as `LockedPackage` of the service. */
export interface BuiltPackage {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

/** The first line of an answer, as JSON. The artefact, or the transformed texts, follow it as bytes. */
export type Answer =
  | {
      readonly is: "built";
      readonly packages: readonly BuiltPackage[];
      readonly roots: Readonly<Record<string, string>>;
    }
  /** `lengths`: the bytes of each transformed text. */
  | { readonly is: "transformed"; readonly lengths: readonly number[] }
  /** The builder rejects the text at this place, from 0. */
  | { readonly is: "rejected"; readonly at: number; readonly detail: string }
  | { readonly is: "failed"; readonly code: FailureCode; readonly detail: string; readonly hint: string | null };

export const FAILURE_CODES = [
  "packages_not_found",
  "packages_native",
  "packages_too_large",
  "packages_failed",
  "packages_unavailable",
  "code_syntax",
] as const;
export type FailureCode = (typeof FAILURE_CODES)[number];

/** The names in the builder's network. No other name leads anywhere. */
export const REGISTRY_HOST = "registry";
export const ESBUILD_HOST = "esbuild";

/** The most packages of one lock. It stops a package that depends on half of a registry. */
export const MAX_PACKAGES = 200;
/** The longest first line of an answer: 200 packages with the names of those on which they depend. */
export const MAX_HEAD_BYTES: number = 2 ** 18;
/** The most bytes of all unpacked packages. It stops archives that grow. */
export const MAX_UNPACKED_BYTES: number = 100 * 2 ** 20;
/** The most bytes of an artefact, each of which a guest receives, parses and holds. */
export const MAX_ARTEFACT_BYTES: number = 10 * 2 ** 20;
