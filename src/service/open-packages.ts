import path from "node:path";

import { openBuilder } from "../builder/open-builder.ts";
import type { RegistryEgress } from "../builder/registry-fetch.ts";
import type { Registries, Registry } from "../builder/registry-urls.ts";
import type { Config } from "../config.ts";
import { readNamedFile } from "../config/read-file.ts";
import { Artefacts } from "../packages/artefacts.ts";
import { type BuildReport, BuildQueue } from "../packages/build-queue.ts";
import { PackageStore } from "../packages/package-store.ts";
import { Packages } from "../packages/packages.ts";
import type { PermitStore } from "../packages/permit-store.ts";
import { TransformQueue } from "../packages/transform-queue.ts";
import { Transforms } from "../packages/transforms.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Log } from "../telemetry/log.ts";
import { Histogram } from "../telemetry/metrics/histogram.ts";
import type { Caller } from "../tokens/caller.ts";
import type { Tokens } from "../tokens/token-service.ts";
import type { Capacity } from "./capacity.ts";

/** The packages of the service, and what its metrics need of them. */
export interface OpenPackages {
  readonly packages: Packages;
  readonly queue: BuildQueue;
  /** Makes JavaScript of texts that Node cannot run. */
  readonly transforms: Transforms;
  readonly builds: Builds;
  /** The bytes and the number of the sets that are built. */
  readonly stored: () => { readonly all: number; readonly count: number };
}

/** The builds of packages, for the metrics. */
export interface Builds {
  readonly duration: Histogram;
  /** The number of builds by their outcome: `built`, or the code of the error. */
  readonly outcomes: Map<string, number>;
}

const FOLDER = "packages";

/** The database in the data folder. */
export const PACKAGES_DATABASE = "packages.sqlite";

/** What packages need of the service. */
export interface PackageParts {
  /** The data folder. */
  readonly folder: string;
  readonly registries: Registries;
  /** The list that nodes share; null for that of the folder. */
  readonly permits: PermitStore | null;
  readonly sandbox: Pick<Sandbox, "launch">;
  readonly egress: RegistryEgress;
  readonly log: Log;
  readonly capacity: Pick<Capacity, "builds" | "transforms">;
}

/** Opens the locks and the artefacts of the data folder, and puts a queue in front of the builder. */
export function openPackages(
  config: Config,
  { folder, registries, permits, sandbox, egress, log, capacity }: PackageParts,
): OpenPackages {
  const builder = openBuilder({ ...registries, sandbox, egress, deadlineMs: config.packagesTime });
  const builds: Builds = { duration: new Histogram(), outcomes: new Map([["built", 0]]) };
  const queue = new BuildQueue(builder, {
    timeMs: config.packagesTime,
    mostAtOnce: capacity.builds,
    onBuilt: (report) => {
      noteBuild(builds, report);
      logBuild(log, report);
    },
  });
  const store = PackageStore.open(path.join(folder, PACKAGES_DATABASE));
  const artefacts = new Artefacts(path.join(folder, FOLDER), store, { maxBytes: config.packagesSize });
  const policy = { mode: config.npm, allow: config.npmAllow };
  const options = { policy, minAgeMs: config.npmMinAge, permitStore: permits ?? store };
  // Texts do not wait behind a build, which waits for a registry.
  const texts = new TransformQueue(builder, capacity.transforms);
  const transforms = new Transforms((...order) => texts.transform(...order));
  return {
    packages: new Packages(store, artefacts, queue, options),
    queue,
    transforms,
    builds,
    stored: () => store.sizes(null),
  };
}

/** Ends the builds of a token that is revoked, or whose key is, and does not begin those that wait. */
export function endRevokedBuilds(packages: Packages, { store, verifier }: Pick<Tokens, "store" | "verifier">): void {
  const end = (): void => packages.endBuilds((caller) => verifier.stateOf(caller as Caller, "none") !== "valid");
  store.onRevoked(end);
  verifier.onKeysRemoved(end);
}

/** Reads the registries of the settings with their tokens. @throws {Error} if a file cannot be read */
export function readRegistries({ npmRegistry, npmTokenFile, npmScope, npmScopeToken }: Config): Registries {
  const scopes = npmScope.map(({ scope, value }): [string, Registry] => {
    const file = npmScopeToken.find((each) => each.scope === scope)?.value ?? null;
    return [scope, registryOf(value, "--npm-scope-token", file)];
  });
  return { registry: registryOf(npmRegistry, "--npm-token-file", npmTokenFile), scopes: new Map(scopes) };
}

function registryOf(url: string, flag: string, file: string | null): Registry {
  const token = file === null ? null : readNamedFile(flag, file).toString().trim();
  return { url: new URL(url), token };
}

function noteBuild({ duration, outcomes }: Builds, { ms, built, error }: BuildReport): void {
  const outcome = built ? "built" : codeOf(error);
  outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  duration.observe(ms);
}

function logBuild({ pino }: Log, { order, ms, built, error }: BuildReport): void {
  const line = { packages: order.set.ranges, by: order.requestedBy, ms: Math.round(ms) };
  if (built) {
    const { key, packages } = built.lock;
    pino.info({ ...line, lock: key, count: packages.length, bytes: built.artefact.length }, "packages built");
    return;
  }
  const code = codeOf(error);
  const level = code === "internal_error" ? "error" : code === "packages_unavailable" ? "warn" : "info";
  pino[level]({ ...line, code, err: level === "error" ? error : undefined }, `packages not built: ${messageOf(error)}`);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && error.name === "Problem" ? String(error.code) : "internal_error";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
