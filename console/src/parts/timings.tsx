import { duration } from "../format.ts";

interface TimingsProps {
  readonly ms: { readonly queue: number | null; readonly start: number | null; readonly run: number | null };
  readonly start: string | null;
}

/** The phases of a run as a bar. */
export function Timings({ ms, start }: TimingsProps) {
  const phases = [
    { name: "queue", ms: ms.queue ?? 0 },
    { name: start === null ? "start" : `start (${start})`, ms: ms.start ?? 0 },
    { name: "run", ms: ms.run ?? 0 },
  ];
  const all = Math.max(
    phases.reduce((sum, phase) => sum + phase.ms, 0),
    Number.MIN_VALUE,
  );
  return (
    <div class="timings">
      <div class="bar" aria-hidden="true">
        {phases.map((phase) => (
          <span key={phase.name} style={{ width: `${(100 * phase.ms) / all}%` }} />
        ))}
      </div>
      <p class="quiet">{phases.map(({ name, ms: took }) => `${name} ${duration(took)}`).join(", ")}</p>
    </div>
  );
}
