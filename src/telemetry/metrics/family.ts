import { BOUNDS_SECONDS, type Histogram } from "./histogram.ts";

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
  /** The name of the series, if it is not the name of the family. */
  readonly metricName?: string;
}

/** All series of one name, in the form that the Prometheus client reads. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly values: readonly Sample[];
}

/** The values of a family without labels, or with the labels of each value. */
type Values = number | readonly (readonly [labels: Labels, value: number])[];

export function counter(name: string, help: string, values: Values): Family {
  return { name, help, type: "counter", values: samples(values) };
}

export function gauge(name: string, help: string, values: Values): Family {
  return { name, help, type: "gauge", values: samples(values) };
}

export function histogram(
  name: string,
  help: string,
  histograms: readonly (readonly [labels: Labels, histogram: Histogram])[],
): Family {
  const values = histograms.flatMap(([labels, each]) => {
    const cumulative = each.cumulative();
    const upTo = (le: string, value: number): Sample => ({
      labels: { ...labels, le },
      value,
      metricName: `${name}_bucket`,
    });
    return [
      ...cumulative.map((value, bucket) => upTo(String(BOUNDS_SECONDS[bucket]), value)),
      upTo("+Inf", each.count),
      { labels, value: each.sum, metricName: `${name}_sum` },
      { labels, value: each.count, metricName: `${name}_count` },
    ];
  });
  return { name, help, type: "histogram", values };
}

function samples(values: Values): Sample[] {
  if (typeof values === "number") return [{ labels: {}, value: values }];
  return values.map(([labels, value]) => ({ labels, value }));
}
