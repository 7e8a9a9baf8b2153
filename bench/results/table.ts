import { markdownTable } from "./markdown.ts";
import { formatNumber, inUnit, type Results, type RowResult } from "./results.ts";

const TEXT_COLUMNS = 2;
const TEXT_COLUMNS_OF_PEERS = 2;
/** Rows of the service that do what the peers do: new code on every request. */
const LIKE_PEERS: Readonly<Record<string, { name: string; each: string; warm?: string }>> = {
  "new-body": { name: "caisson, one container", each: "the process of its container", warm: "warm-body" },
  "new-module": {
    name: "caisson, one container, `export default`",
    each: "the process of its container",
    warm: "warm-module",
  },
  fresh: { name: "caisson, `fresh: true`", each: "a process in a sandbox" },
};

/** Returns the results as Markdown: the service, and below it the peers if there are any. */
export function table(results: Results): string {
  const peers = results.rows.filter(({ peer }) => peer !== undefined);
  return `${serviceTable(results.rows)}${peers.length === 0 ? "" : `\n${peerTable(results.rows)}`}${failures(results.rows)}`;
}

/** Returns the figures of the service with the aim and the budget of each. */
export function serviceTable(rows: readonly RowResult[]): string {
  const cells = rows
    .filter(({ peer }) => peer === undefined)
    .flatMap(({ title, figures, medians }) =>
      figures.map((figure) => [
        title,
        figure.title,
        inUnit(figure, figure.value),
        measuredOf(figure.id, medians),
        figure.aim === null ? "" : formatNumber(figure.aim),
        figure.budget === null ? "" : formatNumber(figure.budget),
      ]),
    );
  return markdownTable([["row", "figure", "median", "measured", "aim", "budget"], ...cells], TEXT_COLUMNS);
}

/** Returns the figures of the peers, and those of the service for the same requests. */
export function peerTable(rows: readonly RowResult[]): string {
  const own = rows.flatMap(({ id, medians }) => {
    const like = LIKE_PEERS[id];
    if (like === undefined) return [];
    const warm = rows.find((row) => row.id === like.warm)?.medians["ratio"];
    return [[like.name, like.each, ...newCode(medians, warm)]];
  });
  const others = rows.flatMap(({ peer, medians }) =>
    peer === undefined ? [] : [[`${peer.name} ${peer.version}`, peer.each, ...newCode(medians, medians["warmRatio"])]],
  );
  const head = ["runtime", "each run gets", "runs/s", "of bare", "one after the other, p50", "warm, of bare"];
  return markdownTable([head, ...own, ...others], TEXT_COLUMNS_OF_PEERS);
}

function newCode({ perSecond, ratio, oneP50Ms, restMs }: RowResult["medians"], warm: number | undefined): string[] {
  const latencyMs = oneP50Ms ?? restMs;
  return [
    perSecond === undefined ? "-" : formatNumber(Math.round(perSecond)),
    ratio === undefined ? "-" : formatNumber(ratio),
    latencyMs === undefined ? "-" : `${formatNumber(latencyMs)} ms`,
    warm === undefined ? "-" : formatNumber(warm),
  ];
}

/** Returns what a ratio was computed from, as far as a reader may want it. */
function measuredOf(id: string, { perSecond, barePerSecond, cpuUs, p50Ms, bareP50Ms }: RowResult["medians"]): string {
  if (id === "ratio" && perSecond !== undefined && barePerSecond !== undefined && cpuUs !== undefined) {
    return `${formatNumber(Math.round(perSecond))}/s of ${formatNumber(Math.round(barePerSecond))}/s, ${cpuUs.toFixed(1)} µs`;
  }
  if (id === "p50Ratio" && p50Ms !== undefined && bareP50Ms !== undefined) {
    return `${formatNumber(p50Ms)} ms of ${formatNumber(bareP50Ms)} ms`;
  }
  return "";
}

function failures(rows: readonly RowResult[]): string {
  const lines = rows.flatMap(({ title, failure }) =>
    failure === undefined ? [] : [`- ${title} was not measured: ${failure}\n`],
  );
  return lines.length === 0 ? "" : `\n${lines.join("")}`;
}
