import { LIMIT, WINDOW_MS } from "./algorithms.ts";

export interface Panel {
  readonly name: string;
  readonly worst: number;
  /** When runs were admitted, ascending, in milliseconds. */
  readonly times: readonly number[];
}

const COLUMNS = 3;
const PANEL = { width: 300, height: 190, left: 46, top: 44, right: 14, bottom: 30 };
const HEAD = 64;
const FOOT = 34;
/** The distance of two dots, in units of the picture's width. */
const STEP = 0.5;
const WINDOWS = 4;
const TICKS = [0, 0.5, 1, 1.5, 2];

/** Draws the effect of the adversary on each algorithm: the number of runs in the last window, at every moment. */
export function picture(panels: readonly Panel[]): string {
  const width = COLUMNS * PANEL.width;
  const height = HEAD + Math.ceil(panels.length / COLUMNS) * PANEL.height + FOOT;
  const drawn = panels.map((panel, at) => {
    const x = (at % COLUMNS) * PANEL.width;
    const y = HEAD + Math.floor(at / COLUMNS) * PANEL.height;
    return `<g transform="translate(${x} ${y})">${draw(panel, at)}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="#1f2933">
<rect width="${width}" height="${height}" fill="#ffffff"/>
<text x="16" y="28" font-size="17" font-weight="600">Runs in the last window, under the worst attack found</text>
<text x="16" y="48" fill="#52606d">The limit N is the dashed line. Red is what an algorithm lets through beyond it.</text>
${drawn.join("\n")}
<text x="16" y="${height - 12}" fill="#52606d">Time from left to right, in windows. Each algorithm has the attack that is the worst for it.</text>
</svg>
`;
}

function draw({ name, worst, times }: Panel, id: number): string {
  const { width, height, left, top, right, bottom } = PANEL;
  const x = (ms: number): number => left + ((width - left - right) * ms) / (WINDOWS * WINDOW_MS);
  const y = (runs: number): number => height - bottom - ((height - top - bottom) * runs) / (2 * LIMIT);
  const line = outline(times, x, y);
  const area = `M${x(0)} ${y(0)} ${line} L${x(WINDOWS * WINDOW_MS)} ${y(0)} Z`;
  const over = `<clipPath id="over${id}"><rect x="0" y="0" width="${width}" height="${y(LIMIT)}"/></clipPath>`;
  const grid = TICKS.map((tick) => {
    const label = tick === 0 ? "0" : tick === 1 ? "N" : `${tick} N`;
    const at = round(y(tick * LIMIT));
    return `<line x1="${left}" x2="${width - right}" y1="${at}" y2="${at}" stroke="#e4e7eb"/><text x="${left - 6}" y="${at + 4}" text-anchor="end" fill="#52606d" font-size="11">${label}</text>`;
  });
  const windows = Array.from({ length: WINDOWS + 1 }, (_, at) => {
    return `<text x="${round(x(at * WINDOW_MS))}" y="${height - bottom + 15}" text-anchor="middle" fill="#52606d" font-size="11">${at}</text>`;
  });
  const verdict = worst > LIMIT ? `<tspan fill="#c81e1e">worst ${ratio(worst)} N</tspan>` : `worst ${ratio(worst)} N`;
  return [
    over,
    `<text x="${left}" y="${top - 16}" font-weight="600">${name}</text>`,
    `<text x="${width - right}" y="${top - 16}" text-anchor="end">${verdict}</text>`,
    ...grid,
    ...windows,
    `<path d="${area}" fill="#9fb3c8"/>`,
    `<path d="${area}" fill="#e12d39" clip-path="url(#over${id})"/>`,
    `<path d="M${x(0)} ${y(0)} ${line}" fill="none" stroke="#243b53" stroke-width="1.2"/>`,
    `<line x1="${left}" x2="${width - right}" y1="${y(LIMIT)}" y2="${y(LIMIT)}" stroke="#1f2933" stroke-dasharray="5 4"/>`,
  ].join("");
}

/** Returns steps: the number of times in the window that ends at each dot. */
function outline(times: readonly number[], x: (ms: number) => number, y: (runs: number) => number): string {
  const stepMs = (STEP * WINDOWS * WINDOW_MS) / (x(WINDOWS * WINDOW_MS) - x(0));
  // The attack is drawn half a window from the left.
  const shift = (times[0] ?? 0) - WINDOW_MS / 2;
  const words: string[] = [];
  let before = 0;
  for (let ms = 0; ms <= WINDOWS * WINDOW_MS; ms += stepMs) {
    const runs = peak(times, shift + ms - stepMs, shift + ms);
    if (runs === before) continue;
    words.push(`H${round(x(ms))}V${round(y(runs))}`);
    before = runs;
  }
  return [...words, `H${round(x(WINDOWS * WINDOW_MS))}`].join("");
}

/** Returns the maximum number of times in a window that ends in this span, because a dot shows the peak of its span. */
function peak(times: readonly number[], fromMs: number, toMs: number): number {
  const held = (end: number): number => times.filter((time) => time > end - WINDOW_MS && time <= end).length;
  return Math.max(
    held(toMs),
    ...times
      .filter((time) => time > fromMs && time <= toMs)
      .slice(-1)
      .map(held),
  );
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function ratio(worst: number): string {
  return (worst / LIMIT).toFixed(3).replace(/\.?0+$/, "");
}
