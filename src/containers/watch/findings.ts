/**
 * What a sample can show that the service acts on, gravest first. One sample can show several; the service acts on the
 * first of them. A limit comes before a block, because it explains the block: a guest out of memory often answers no ping.
 */
const FINDINGS = ["memory", "threads", "processors", "blocked", "grown", "slowed"] as const;

export type Finding = (typeof FINDINGS)[number];

/** Returns the finding that the service acts on, or null if there is none. */
export function gravest(found: readonly (Finding | null)[]): Finding | null {
  return FINDINGS.find((finding) => found.includes(finding)) ?? null;
}
