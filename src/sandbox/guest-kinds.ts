/**
 * The kinds of guests. A `task` runs submitted code. A `builder` is the same program with more memory: it resolves and unpacks
 * packages. An `esbuild` is esbuild's static binary, which bundles for one builder.
 */
export type GuestKind = (typeof GUEST_KINDS)[number];
export const GUEST_KINDS = ["task", "builder", "esbuild"] as const;
