import { markdownTable } from "./markdown.ts";
import { formatNumber, inUnit, type Results, type RowResult } from "./results.ts";

const TEXT_COLUMNS = 2;
const TEXT_COLUMNS_OF_PEERS = 2;
/** Rows of the service that do what the peers do: new code on every request. */
const LIKE_PEERS: Readonly<Record<string, string>> = {
  "new-body": "caisson, one container",
  "new-module": "caisson, one container, `export default`",
  fresh: "caisson, `fresh: true`",
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
  const own = rows
    .filter(({ id }) => id in LIKE_PEERS)
    .map(({ id, medians }) => [LIKE_PEERS[id]!, ...newCode(medians)]);
  const others = rows.flatMap(({ peer, medians }) =>
    peer === undefined ? [] : [[`${peer.name} ${peer.version}`, ...newCode(medians, peer.each)]],
  );
  const head = ["runtime", "each run gets", "runs/s", "of bare", "one after the other, p50"];
  return markdownTable([head, ...own, ...others], TEXT_COLUMNS_OF_PEERS);
}

function newCode(medians: RowResult["medians"], each?: string): string[] {
  const { perSecond, ratio, oneP50Ms, restMs } = medians;
  const latency = oneP50Ms ?? restMs;
  const isFresh = restMs !== undefined;
  return [
    each ?? (isFresh ? "a sandboxed process" : "the process of its container"),
    perSecond === undefined ? "-" : formatNumber(Math.round(perSecond)),
    ratio === undefined ? "-" : formatNumber(ratio),
    latency === undefined ? "-" : `${formatNumber(latency)} ms`,
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
