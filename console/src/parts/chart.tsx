import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

/** Values over time, in seconds of Unix time. */
export interface Series {
  readonly times: readonly number[];
  readonly lines: readonly { readonly name: string; readonly values: readonly number[]; readonly colour: string }[];
}

interface ChartProps extends Series {
  readonly label: string;
}

const HEIGHT_PX = 240;
const DAY_S = 86_400;
/** The colours of a canvas do not change with the theme. */
const DARK = matchMedia("(prefers-color-scheme: dark)");

/** A chart over time. The table below it on the page has the same figures for readers who do not see it. */
export default function Chart({ label, times, lines }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const isDark = useSignal(DARK.matches);
  useEffect(() => {
    const change = (): void => void (isDark.value = DARK.matches);
    DARK.addEventListener("change", change);
    return () => DARK.removeEventListener("change", change);
  }, []);
  useEffect(() => {
    const box = place.current!;
    const styles = getComputedStyle(document.documentElement);
    const colourOf = (name: string): string => styles.getPropertyValue(name).trim();
    // Canvas does not resolve `light-dark()`, so an element resolves it.
    const probe = box.appendChild(document.createElement("span"));
    const resolved = (name: string): string => {
      probe.style.color = `var(${name})`;
      return getComputedStyle(probe).color || colourOf(name);
    };
    const axis = {
      stroke: resolved("--quiet"),
      grid: { stroke: resolved("--line"), width: 1 },
      ticks: { show: false },
    };
    const chart = new uPlot(
      {
        width: widthIn(box),
        height: HEIGHT_PX,
        // The last label is wider than its tick.
        padding: [null, 24, null, null],
        legend: { live: false },
        scales: { x: { time: true }, y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] } },
        axes: [{ ...axis, values: (_, moments, __, ___, stepS) => moments.map((time) => tickOf(time, stepS)) }, axis],
        tzDate: (time) => uPlot.tzDate(new Date(time * 1_000), "Etc/UTC"),
        series: [
          {},
          ...lines.map(({ name, colour }) => ({
            label: name,
            stroke: resolved(colour),
            width: 2,
            points: { size: 5 },
          })),
        ],
      },
      [times as number[], ...lines.map(({ values }) => values as number[])],
      box,
    );
    probe.remove();
    const observer = new ResizeObserver(() => chart.setSize({ width: widthIn(box), height: HEIGHT_PX }));
    observer.observe(box);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [JSON.stringify([times, lines]), isDark.value]);
  return <div ref={place} class="chart" role="img" aria-label={label} />;
}

/** Returns the width inside of the padding. */
function widthIn(box: HTMLElement): number {
  const { paddingLeft, paddingRight } = getComputedStyle(box);
  return box.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
}

/** Returns the label of a moment in UTC: the day at midnight and if the labels are days apart, otherwise the time. */
function tickOf(time: number, stepS: number): string {
  const text = new Date(time * 1_000).toISOString();
  return stepS >= DAY_S || time % DAY_S === 0 ? text.slice(5, 10) : text.slice(11, 16);
}
