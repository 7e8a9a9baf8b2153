import { formatNumber, type Results, type RowResult } from "./results.ts";

/** A bar: runs a second of one runtime. */
interface Bar {
  readonly name: string;
  readonly perSecond: number;
  readonly isOwn: boolean;
}

const OWN: Readonly<Record<string, string>> = {
  "new-body": "caisson, function body",
  "new-module": "caisson, export default",
  fresh: "caisson, a new process each",
};
const WIDTH = 900;
const LEFT = 250;
const RIGHT = 110;
const TOP = 84;
const BAR = 22;
const STEP = 34;
const FOOT = 62;
const OWN_COLOUR = "#2680c2";
const OTHER_COLOUR = "#9fb3c8";

/** Draws the runs a second of every runtime that was measured, if each request has new code. The axis is logarithmic. */
export function picture({ rows, machine }: Pick<Results, "rows" | "machine">): string {
  const bars = barsOf(rows);
  const height = TOP + bars.length * STEP + FOOT;
  const most = Math.max(10, ...bars.map(({ perSecond }) => perSecond));
  const decades = Math.ceil(Math.log10(most));
  const x = (perSecond: number): number =>
    round(LEFT + ((WIDTH - LEFT - RIGHT) * Math.log10(Math.max(1, perSecond))) / decades);
  const bottom = TOP + bars.length * STEP;
  const grid = Array.from({ length: decades + 1 }, (_, power) => {
    const at = x(10 ** power);
    return `<line x1="${at}" x2="${at}" y1="${TOP - 8}" y2="${bottom}" stroke="#e4e7eb"/><text x="${at}" y="${bottom + 16}" text-anchor="middle" fill="#52606d" font-size="11">${formatNumber(10 ** power)}</text>`;
  });
  const drawn = bars.map(({ name, perSecond, isOwn }, at) => {
    const y = TOP + at * STEP;
    const end = x(perSecond);
    const middle = y + BAR / 2 + 4;
    return `<text x="${LEFT - 10}" y="${middle}" text-anchor="end"${isOwn ? ' font-weight="600"' : ""}>${escaped(name)}</text><rect x="${LEFT}" y="${y}" width="${round(Math.max(1, end - LEFT))}" height="${BAR}" fill="${isOwn ? OWN_COLOUR : OTHER_COLOUR}"/><text x="${round(end + 8)}" y="${middle}">${formatNumber(Math.round(perSecond))}/s</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="#1f2933">
<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>
<text x="16" y="28" font-size="17" font-weight="600">Runs a second, if each request has new code</text>
<text x="16" y="48" fill="#52606d">The same requests over 32 connections (a new process each: 8). The axis is logarithmic.</text>
${grid.join("\n")}
${drawn.join("\n")}
<text x="16" y="${height - 14}" fill="#52606d">${escaped(`${machine.processor}, ${machine.cores} cores, with the load generator on the same machine`)}</text>
</svg>
`;
}

/** Returns the runtimes that were measured, the fastest first. */
function barsOf(rows: readonly RowResult[]): Bar[] {
  const bars = rows.flatMap(({ id, peer, medians }): Bar[] => {
    const name = peer?.name ?? OWN[id];
    const { perSecond } = medians;
    return name === undefined || perSecond === undefined ? [] : [{ name, perSecond, isOwn: peer === undefined }];
  });
  return bars.toSorted((one, other) => other.perSecond - one.perSecond);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
