import { createRequire } from "node:module";
import { after } from "node:test";
import { compileFunction } from "node:vm";

import { type BuilderOptions, openBuilder } from "../../src/builder/open-builder.ts";
import type { BuildOrder, Builder, Built } from "../../src/packages/model.ts";
import { sandboxOf, type SandboxOptions } from "../../src/sandbox/local-sandbox.ts";
import { openLocalSandbox } from "../../src/sandbox/open-local-sandbox.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { RESOURCES } from "../containers/real-guests.ts";
import type { TestRegistry } from "./test-registry.ts";

const OPEN = { isolation: "none" } as const;
let shared: Promise<Sandbox> | null = null;

after(async () => (await shared)?.close());

/** Opens a builder. All builders of a file share one sandbox, and the wall is not the subject of most tests. */
export async function realBuilder(registry: TestRegistry, options: Partial<BuilderOptions> = {}): Promise<Builder> {
  shared ??= openSandboxOf(OPEN);
  const sandbox = await shared;
  return openBuilder({
    sandbox,
    registry: { url: registry.url, token: null },
    scopes: new Map(),
    egress: {},
    ...options,
  });
}

export async function openSandboxOf(options: Partial<SandboxOptions>): Promise<Sandbox> {
  return sandboxOf(await openLocalSandbox({ ...RESOURCES, ...options }));
}

/** Makes an order, for import and for require. The default of `entries` is the packages themselves. */
export function orderOf(
  ranges: Readonly<Record<string, string>>,
  more: Partial<BuildOrder> & { readonly entries?: readonly string[] } = {},
): BuildOrder {
  const { entries = Object.keys(ranges).toSorted(), ...rest } = more;
  const both = [...entries, ...entries.map((entry) => `require:${entry}`)];
  return {
    set: { ranges, entries: both },
    from: null,
    update: [],
    minAgeMs: 0,
    holder: "test",
    requestedBy: "jti",
    ...rest,
  };
}

export function buildOf(builder: Builder, order: BuildOrder): Promise<Built> {
  return builder.build(order, new AbortController().signal);
}

/** What an entry of an artefact gives. */
export interface Entry {
  import(): Record<string, unknown>;
  require(): unknown;
}

/** Evaluates an artefact as a guest does: `require` gives the modules of Node and nothing else. */
export function evaluated({ artefact }: Built): Readonly<Record<string, Entry>> {
  const nodeRequire = createRequire(import.meta.url);
  const require = (name: string): unknown => {
    if (name.startsWith("node:") || nodeRequire.resolve.paths(name) === null) return nodeRequire(name);
    throw Object.assign(new Error(`Cannot find module '${name}'`), { code: "MODULE_NOT_FOUND" });
  };
  const module = { exports: {} as Readonly<Record<string, Entry>> };
  compileFunction(artefact.toString(), ["module", "exports", "require"])(module, module.exports, require);
  return module.exports;
}

export function versionsOf({ lock }: Built): string[] {
  return lock.packages.map(({ name, version }) => `${name}@${version}`);
}
