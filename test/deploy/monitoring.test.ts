import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";

import { type Scrape, scrape } from "../contract/scrape.ts";
import { NO_WALL, type Service, startService } from "../contract/service.ts";
import { missing, type RedisServer, startRedis } from "../redis/server.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const RULES = path.join(ROOT, "deploy/prometheus/caisson.yml");
const DASHBOARD = path.join(ROOT, "deploy/grafana/caisson.json");
const HOW_TO = path.join(ROOT, "docs/how-to/monitoring.md");
const REFERENCE = path.join(ROOT, "docs/reference/metrics.md");
const ALERT_TESTS = path.join(import.meta.dirname, "alerts.yml");

const noPromtool = await missing("promtool");
const noRedis = await missing("redis-server");

/** Labels that Prometheus itself adds. */
const ADDED_LABELS = ["job", "instance"];
/** The metrics of a service with another store of the limits. */
const OF_REDIS = "caisson_redis_connected";
const OF_JOURNAL = "caisson_limit_keys";

let folder: string;
let redis: RedisServer | null = null;
const services: Service[] = [];
/** A scrape of a service with a journal and, if Redis is installed, of one on Redis. Both have had runs. */
let scrapes: Scrape[];

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "caisson-monitoring-"));
  const flags = [...NO_WALL, "--metrics-containers", "listed"];
  services.push(await startService(flags));
  if (noRedis === false) {
    redis = await startRedis();
    services.push(await startService([...flags, "--redis", redis.url]));
  }
  for (const service of services) {
    assert.equal((await service.run("listed", "6 * 7")).status, 200);
    assert.equal((await service.run("demo", "throw new Error('no')")).status, 500);
  }
  scrapes = await Promise.all(services.map((service) => scrape(service)));
});
after(async () => {
  for (const service of services) await service.stop();
  await redis?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

interface Expression {
  /** The panel or the alert. */
  readonly of: string;
  readonly text: string;
  /** Labels that a legend shows. */
  readonly shown: readonly string[];
}

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

async function panels(): Promise<readonly Panel[]> {
  return (JSON.parse(await readFile(DASHBOARD, "utf8")) as { panels: Panel[] }).panels;
}

async function dashboardExpressions(): Promise<Expression[]> {
  return (await panels()).flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => {
      return { of: title, text: expr, shown: [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!) };
    }),
  );
}

async function ruleExpressions(): Promise<Expression[]> {
  const rules = (await readFile(RULES, "utf8")).split(/^ *- alert: /m).slice(1);
  return rules.map((rule) => {
    const [, expression] = /expr: \|\n([^]*?)^ *for:/m.exec(rule) ?? assert.fail(rule);
    return { of: rule.split("\n")[0]!, text: expression!, shown: [] };
  });
}

/** Returns the series of an expression: their names and the labels in braces. */
function selectorsOf(expression: string): { name: string; matchers: { label: string; pattern: string }[] }[] {
  return [...expression.matchAll(/\b(caisson_[a-z_]+)(?:\{([^}]*)\})?/g)].map(([, name, inside = ""]) => {
    const matchers = [...inside.matchAll(/([a-z_]+)\s*(?:=~|!=|!~|=)\s*"([^"]*)"/g)];
    return { name: name!, matchers: matchers.map(([, label, pattern]) => ({ label: label!, pattern: pattern! })) };
  });
}

/** Runs promtool. @returns its output if it succeeds */
async function promtool(args: readonly string[], input: string = ""): Promise<string> {
  const child = spawn("promtool", args, { cwd: ROOT, stdio: "pipe" });
  child.stdin.on("error", () => {}).end(input);
  const closed = once(child, "close") as Promise<[number | null]>;
  const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  assert.equal(code, 0, `promtool ${args.join(" ")}: ${out}${errors}`);
  return out + errors;
}

describe("the dashboard and the alert rules", () => {
  it("name only metrics, labels and values of labels that a service exposes", async () => {
    const expressions = [...(await dashboardExpressions()), ...(await ruleExpressions())];
    const series = scrapes.flatMap((each) => each.series);
    const faults: string[] = [];
    let checked = 0;
    for (const { of, text: expression, shown } of expressions) {
      const labels = new Set([...ADDED_LABELS, ...shown.filter((label) => label === "version")]);
      for (const { name, matchers } of selectorsOf(expression)) {
        if (name === OF_REDIS && noRedis !== false) continue;
        const found = series.filter((each) => each.name === name);
        if (found.length === 0) faults.push(`${of}: there is no ${name}`);
        for (const label of found.flatMap((each) => Object.keys(each.labels))) labels.add(label);
        for (const { label, pattern } of matchers.filter((each) => !ADDED_LABELS.includes(each.label))) {
          const values = new Set(found.map((each) => each.labels[label]));
          for (const value of pattern === "" ? [] : pattern.split("|")) {
            if (!values.has(value)) faults.push(`${of}: no ${name} has ${label}="${value}"`);
          }
          if (pattern === "" && !found.some((each) => label in each.labels))
            faults.push(`${of}: ${name} has no ${label}`);
        }
        checked++;
      }
      const grouped = [...expression.matchAll(/\b(?:by|on|group_left) \(([^)]*)\)/g)].flatMap(([, list]) =>
        list!.split(", "),
      );
      for (const label of [...grouped, ...shown]) if (!labels.has(label)) faults.push(`${of}: nothing has ${label}`);
    }
    assert.deepEqual(faults, []);
    assert.ok(checked > 50);
  });

  it("are four alerts, and panels whose titles are unique and which all show something", async () => {
    assert.equal((await ruleExpressions()).length, 4);
    const shown = await panels();
    assert.equal(new Set(shown.map(({ title }) => title)).size, shown.length);
    for (const { title, type, targets = [] } of shown) assert.equal(targets.length > 0, type !== "row", title);
  });

  it("show every metric of a service", async () => {
    const used = new Set(
      [...(await dashboardExpressions())].flatMap(({ text: expression }) =>
        selectorsOf(expression).map(({ name }) => name.replace(/_(?:bucket|sum|count)$/, "")),
      ),
    );
    const exposed = new Set(scrapes.flatMap((each) => [...each.types.keys()]));
    assert.deepEqual(
      [...exposed].filter((name) => !used.has(name)),
      [],
    );
  });

  it("have valid expressions", { skip: noPromtool }, async () => {
    const rules = (await dashboardExpressions()).map(({ text: expression }, index) => {
      const plain = expression.replaceAll("$__rate_interval", "5m").replaceAll("$instance", ".*");
      return { record: `panel:${index}`, expr: plain };
    });
    const file = path.join(folder, "panels.yml");
    // JSON is YAML.
    await writeFile(file, JSON.stringify({ groups: [{ name: "panels", rules }] }));
    assert.match(await promtool(["check", "rules", file]), new RegExp(`SUCCESS: ${rules.length} rules found`));
    assert.match(await promtool(["check", "rules", RULES]), /SUCCESS: 4 rules found/);
  });

  it("fire as their tests say", { skip: noPromtool }, async () => {
    assert.match(await promtool(["test", "rules", ALERT_TESTS]), /SUCCESS/);
  });
});

describe("the metrics of a service", () => {
  it("are valid, with names and types that Prometheus recommends", { skip: noPromtool }, async () => {
    for (const { text: scraped } of scrapes) assert.equal(await promtool(["check", "metrics"], scraped), "");
  });

  it("have names that begin with caisson_, and no label whose values callers choose", async () => {
    const bounded = ["outcome", "code", "decision", "start", "kind", "reason", "le", "version", "node", "isolation"];
    for (const { name, labels } of scrapes.flatMap((each) => each.series)) {
      assert.match(name, /^caisson_/);
      for (const [label, value] of Object.entries(labels)) {
        assert.ok(
          label === "container" ? value === "listed" : bounded.includes(label),
          `${name} has ${label}="${value}"`,
        );
      }
    }
  });

  it("are on the reference page with their type, and the page has no others", async () => {
    const page = await readFile(REFERENCE, "utf8");
    const described = [...page.matchAll(/^\| `(caisson_[a-z_]+)` +\| (\w+) +\|/gm)].map(
      ([, name, type]) => `${name} ${type}`,
    );
    const exposed = new Set(scrapes.flatMap((each) => [...each.types].map(([name, type]) => `${name} ${type}`)));
    if (noRedis !== false) exposed.add(`${OF_REDIS} gauge`);
    assert.deepEqual(described.toSorted(), [...exposed].toSorted());
  });

  it("depend on the store of the limits only in one metric each", { skip: noRedis }, () => {
    const [journal, shared] = scrapes.map((each) => [...each.types.keys()]) as [string[], string[]];
    assert.deepEqual(
      journal.filter((name) => !shared.includes(name)),
      [OF_JOURNAL],
    );
    assert.deepEqual(
      shared.filter((name) => !journal.includes(name)),
      [OF_REDIS],
    );
    assert.equal(scrapes[1]!.sum(OF_REDIS), 1);
  });
});

it("the configuration of Prometheus on the how-to page is valid", { skip: noPromtool }, async () => {
  const [, config] = /^```yaml\n(scrape_configs:[^]*?)^```$/m.exec(await readFile(HOW_TO, "utf8")) ?? [];
  const file = path.join(folder, "prometheus.yml");
  await writeFile(file, config ?? assert.fail("the page has no scrape_configs"));
  assert.match(await promtool(["check", "config", "--syntax-only", file]), /SUCCESS/);
});
