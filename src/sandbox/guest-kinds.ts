/**
 * The kinds of guests. A `task` runs submitted code. A `builder` is the same program with more memory: it resolves and unpacks
 * packages. An `esbuild` is esbuild's static binary, which bundles for one builder. A `memory-taker` has the limits of a task and no
 * program: the self-test makes it use more memory than it may.
 */
export type GuestKind = (typeof GUEST_KINDS)[number];
export const GUEST_KINDS = ["task", "builder", "esbuild", "memory-taker"] as const;
