import { counted } from "../format.ts";

interface SilentNodesProps {
  /** The nodes that were asked, and those that answered. */
  readonly of: { readonly asked: number; readonly answered: number } | undefined;
  /** What the answer lacks, such as `runs`. */
  readonly what: string;
}

/** States that an answer is not whole, because some of several nodes did not answer. */
export function SilentNodes({ of, what }: SilentNodesProps) {
  const silent = of === undefined ? 0 : of.asked - of.answered;
  if (silent === 0) return null;
  return (
    <p class="notice">
      {counted(silent, "node")} of {of!.asked} did not answer: {silent === 1 ? "its" : "their"} {what} are missing here.
    </p>
  );
}
