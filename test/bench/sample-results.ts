import { type Results, rowResult } from "../../bench/results/results.ts";
import type { Figure, Row } from "../../bench/row.ts";

/** Returns a row for tests, which is never measured. */
export function sampleRow(id: string, figure: Partial<Figure> = {}, other: Partial<Row> = {}): Row {
  const ratio = { id: "ratio", title: "runs", unit: "of bare", better: "more", aim: 0.75, budget: 0.5 } as const;
  return {
    id,
    title: `the row ${id}`,
    figures: [{ ...ratio, ...figure }],
    needsWrk: false,
    measure: () => Promise.reject(new Error("a sample is not measured")),
    ...other,
  };
}

/** Returns results with a row of the service, a peer, and a peer that could not be installed. */
export function sampleResults(): Results {
  const own = { ratio: 0.5, perSecond: 30_000, barePerSecond: 60_000, cpuUs: 26.04, oneP50Ms: 0.25 };
  return {
    date: "2026-01-02T03:04:05.678Z",
    commit: "0123456789abcdef",
    isChanged: false,
    isFull: true,
    machine: { processor: "A <fast> & quiet one", cores: 2, memoryMiB: 8_192, kernel: "Linux 6.1.0", node: "24.0.0" },
    isolation: "namespaces",
    rounds: 5,
    seconds: 3,
    rows: [
      rowResult(sampleRow("new-body"), [own]),
      rowResult(sampleRow("peer-a", {}, peer("slow-one")), [{ ratio: 0.001, perSecond: 60.4 }], undefined, "1.2.3"),
      rowResult(sampleRow("peer-b", {}, peer("lost-one")), [], "npm ci failed", "not installed"),
    ],
  };
}

function peer(name: string): Pick<Row, "peer"> {
  return { peer: { name, package: name, each: "an isolate" } };
}
