import assert from "node:assert/strict";

import type { RequestOptions } from "./http.ts";
import type { Service } from "./service.ts";

export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** One answer of `/metrics`. */
export interface Scrape {
  readonly text: string;
  /** The type of each metric by its name. */
  readonly types: ReadonlyMap<string, string>;
  readonly series: readonly Series[];
  /** The sum of the series with this name and these labels. Fails if there is none. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number;
}

export async function scrape(service: Pick<Service, "request">, options: RequestOptions = {}): Promise<Scrape> {
  const { status, headers, text } = await service.request("GET", "/metrics", options);
  assert.equal(status, 200, text);
  assert.equal(headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
  const lines = text.split("\n").filter((line) => line !== "");
  const types = new Map(
    lines.flatMap((line) => [...line.matchAll(/^# TYPE (\S+) (\S+)$/g)].map(([, name, type]) => [name!, type!])),
  );
  const series = lines.filter((line) => !line.startsWith("#")).map(parseSeries);
  return {
    text,
    types,
    series,
    sum: (name, labels = {}) => {
      const found = series.filter((each) => each.name === name && hasLabels(each, labels));
      assert.notEqual(found.length, 0, `no series is ${name} ${JSON.stringify(labels)}`);
      return found.reduce((sum, { value }) => sum + value, 0);
    },
  };
}

function parseSeries(line: string): Series {
  const [, name, labels = "", value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? assert.fail(line);
  const pairs = [...labels.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, text]) => [label!, text!]);
  return { name: name!, labels: Object.fromEntries(pairs) as Series["labels"], value: Number(value) };
}

function hasLabels(series: Series, labels: Readonly<Record<string, string>>): boolean {
  return Object.entries(labels).every(([label, value]) => (series.labels[label] ?? "") === value);
}
