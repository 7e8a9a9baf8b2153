/** The status of a run. */
export function StatusBadge({ status }: { readonly status: string }) {
  const kind =
    status === "ok"
      ? "ok"
      : status === "running"
        ? ""
        : status === "cancelled" || status === "interrupted"
          ? "warn"
          : "bad";
  return <span class={`badge ${kind}`}>{status}</span>;
}
