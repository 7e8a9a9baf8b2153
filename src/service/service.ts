import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import type { Server } from "node:http";
import { availableParallelism, freemem } from "node:os";
import path from "node:path";

import { CopiedDatabases } from "../backup/backup-source.ts";
import { refuseUnfinishedRestore } from "../backup/unfinished-restore.ts";
import type { Config } from "../config.ts";
import { settingsInForce } from "../config/in-force.ts";
import type { Origins } from "../config/read.ts";
import type { TransformText } from "../containers/guest/transform-texts.ts";
import { lockDataFolder } from "../data-lock.ts";
import { recordParts, refuseLostPart } from "../data-parts.ts";
import { FamilyRequests } from "../http/api/family-requests.ts";
import type { ApiDependencies } from "../http/api/route.ts";
import type { SystemFacts } from "../http/api/system-facts.ts";
import { Authenticator } from "../http/authenticator.ts";
import { Bodies } from "../http/bodies.ts";
import { consoleUrlOf } from "../http/console/console-server.ts";
import { readLogo } from "../http/console/logo.ts";
import { VERSION } from "../http/headers.ts";
import { drained, listen, listeningPorts, urlOf } from "../http/listen-and-drain.ts";
import { createListener } from "../http/listener.ts";
import { OpenConnections } from "../http/open-connections.ts";
import { ActiveRuns } from "../http/run/active-runs.ts";
import { cancelRun, runningIn } from "../http/run/find-runs.ts";
import { replaceGuests } from "../http/run/replace-guests.ts";
import type { RunTrace } from "../http/run/run-trace.ts";
import { RunTraces } from "../http/run/run-traces.ts";
import { keepCode } from "../kept-code.ts";
import { Limiter } from "../limits/limiter.ts";
import { EmbeddedLimitStore } from "../limits/stores/embedded.ts";
import { openNodes } from "../nodes/open-nodes.ts";
import { Restarts } from "../policies/restarts.ts";
import { openDrain } from "../records/drain/open-drain.ts";
import { Records } from "../records/records.ts";
import { closeInheritedDescriptors, descriptorLimit } from "../sandbox/launcher/descriptors.ts";
import { openSandbox } from "../sandbox/open-sandbox.ts";
import { giveUpRoot, isPrivileged, serviceIdentity } from "../sandbox/privilege.ts";
import { sandboxOptions } from "../sandbox/sandbox-options.ts";
import type { SandboxFacts } from "../sandbox/sandbox.ts";
import { giveFolder, refuseLinks } from "../sandbox/temp/give-folder.ts";
import { openLimitStore, openPolicies, openRedis, openShared, openTaskStore } from "../stores.ts";
import { Tasks } from "../tasks/tasks.ts";
import { openLog } from "../telemetry/log.ts";
import { EventLoopLag } from "../telemetry/metrics/event-loop-lag.ts";
import { readMetricsToken } from "../telemetry/metrics/read-token.ts";
import { runCounts } from "../telemetry/run-counts.ts";
import { RunIds } from "../telemetry/run-ids.ts";
import { ensureAdminToken } from "../tokens/admin-token.ts";
import type { Caller } from "../tokens/caller.ts";
import { CheckRate } from "../tokens/check-rate.ts";
import { IssueRate } from "../tokens/issue-rate.ts";
import { openTokens, type Tokens } from "../tokens/token-service.ts";
import { capacityOf } from "./capacity.ts";
import { keyEvents } from "./key-events.ts";
import { loadAsRoot } from "./load-as-root.ts";
import { type MeasuredService, metricsOfRuns, metricsText } from "./metrics-answer.ts";
import { openBackups } from "./open-backups.ts";
import { openConsole } from "./open-console.ts";
import { openGuests } from "./open-guests.ts";
import { openHistory } from "./open-history.ts";
import { openEgress, openIntake, openSources } from "./open-network.ts";
import { endRevokedBuilds, openPackages, readRegistries } from "./open-packages.ts";
import { openFindings } from "./service-findings.ts";

export interface Service {
  /** The URL at which the service listens. */
  readonly url: string;
  /** The URL of the web console. */
  readonly consoleUrl: string;
  readonly isolation: SandboxFacts;
  readonly adminTokenFile: string;
  /** Resolves when the service cannot continue. */
  readonly lost: Promise<Error>;
  /** Accepts no new run, lets active runs end, and releases all resources. */
  stop(): Promise<void>;
}

const ADMIN_TOKEN = "admin.token";

/** The origin of the settings. */
export interface Given {
  readonly origins: Origins;
  /** Variables that look like settings and are none, as sentences. */
  readonly unknownVariables: readonly string[];
}

/** Wires everything. @throws {Error} when a required resource is missing. */
export async function startService(config: Config, given: Given): Promise<Service> {
  closeInheritedDescriptors();
  const closers = new AsyncDisposableStack();
  try {
    return await wire(config, given, closers);
  } catch (error) {
    await closers.disposeAsync();
    throw error;
  }
}

async function wire(
  config: Config,
  { origins, unknownVariables }: Given,
  closers: AsyncDisposableStack,
): Promise<Service> {
  const log = openLog(config.logLevel);
  const lost = Promise.withResolvers<Error>();
  const resources = sandboxOptions(config);
  const capacity = capacityOf(config, {
    processors: availableParallelism(),
    freeBytes: freemem(),
    descriptors: descriptorLimit(),
  });
  // Started here and awaited below, because it takes longer than any other step.
  const opening = openSandbox({ ...resources, mostGuests: capacity.guests }, lost.resolve);
  // Awaited below; until then, suppress the unhandled-rejection warning.
  opening.catch(() => {});
  closers.defer(async () => (await opening.catch(() => null))?.close());
  const data = path.resolve(config.data);
  const isRoot = isPrivileged();
  const isNew = !existsSync(data);
  if (isRoot && !isNew) await refuseLinks(await realpath(data));
  closers.adopt(lockDataFolder(data), (held) => held.release());
  // Relative paths let the service's user reach the folder that root gives it, even if the folder lies in folders of root.
  if (isRoot) process.chdir(data);
  const folder = isRoot ? "." : data;
  refuseUnfinishedRestore(folder, data);
  if (config.redis === null) await refuseLostPart(folder, data);
  // Opened before the rest and so closed after it, because changes and runs end while the rest is closed.
  const onFailure = (error: Error): void => log.pino.error(error.message);
  const drain = closers.adopt(await openDrain(config, { onFailure }), (open) => open?.close());
  const metricsToken = readMetricsToken(config.metricsToken);
  const consoleLogo = await readLogo(config.consoleLogo);
  const identity = isRoot ? await serviceIdentity(config.user, folder) : null;
  const history = closers.use(await openHistory(folder, data, identity, config, log));
  const { recordStore, usage, audit } = history;
  const link = closers.adopt(await openRedis(config, log), (open) => open?.close());
  const shared = closers.adopt(link && (await openShared(config, link)), (open) => open?.close());
  const onKeys = keyEvents(log, audit, () => tokens, path.join(folder, ADMIN_TOKEN));
  const tokens: Tokens = closers.adopt(
    await openTokens(folder, config.keys ?? undefined, {
      ...{ registry: shared?.registry, secrets: shared?.secrets, familySecrets: config.familySecrets },
      ...{ secretsKey: config.secretsKey ?? undefined, onKeys },
    }),
    (open) => open.close(),
  );
  const adminTokenFile = path.join(data, ADMIN_TOKEN);
  await ensureAdminToken(adminTokenFile, tokens);
  const store = closers.adopt(await openLimitStore(config, folder, link, log), (open) => open.close());
  const policies = closers.adopt(openPolicies(folder, shared), (open) => open.close());
  if (!shared) await recordParts(folder);
  const issueRate = new IssueRate(store, config.familyIssues);
  const registries = readRegistries(config);
  const defaults = { container: config.containerLimit, token: config.tokenLimit };
  const limiter = new Limiter(store, defaults, (container) => policies.get(container)?.limits);

  const sandbox = await opening;
  const servers: Server[] = [];
  const ownPorts = (): number[] => servers.flatMap(listeningPorts);
  const egress = openEgress(config, capacity.egressConnections, ownPorts);
  const builderEgress = { ownPorts, ownPlaces: config.redis?.hosts ?? [] };
  const permits = shared?.permits ?? null;
  const packageParts = { folder, registries, permits, sandbox, egress: builderEgress, log, capacity };
  const { packages, ...building } = openPackages(config, packageParts);
  closers.adopt(packages, (open) => open.close());
  endRevokedBuilds(packages, tokens);
  const taskOptions = { ...config, packages, admitIssue: (by: Caller) => issueRate.admit(by) };
  const taskStore = openTaskStore(folder, shared);
  const tasks = closers.adopt(await Tasks.open(taskStore, tokens, taskOptions), (open) => open.close());
  // After the stores, whose files it opens.
  const copies = new CopiedDatabases(folder, shared !== null, history.folder !== folder);
  const databases = closers.adopt(copies, (open) => open.close());
  packages.artefacts.isPinned = async ({ container, name }, key) =>
    packages.names((await tasks.find(container, name))?.lock ?? null, key);
  const transform: TransformText = (...call) => building.transforms.transform(...call);
  const { guests, launches, pool, containers, checks } = await openGuests(
    { config, capacity, resources, sandbox, egress, transform },
    closers,
  );
  const restarts = shared?.restarts ?? new Restarts();
  replaceGuests(policies, restarts, containers, guests);

  const kept = config.keepRuns === 0 ? null : recordStore;
  const running = (container: string | null): RunTrace[] => runningIn(guests, container);
  const records = new Records({ store: kept, drain, bounds: config, running });
  const runIds = new RunIds();
  const runMetrics = metricsOfRuns(config.metricsContainers);
  const node = config.nodeName ?? runIds.process;
  const traced = { config, policies, records, usage, metrics: runMetrics, guests, node };
  const traces = closers.adopt(new RunTraces(traced), (open) => open.close());
  const nodes = await openNodes(config, link, tokens.keys, runIds.process, (silent) => log.pino.warn(silent));
  let draining = false;
  const trouble = (): ReturnType<ApiDependencies["trouble"]> => {
    if (draining) return "draining";
    const isStoreLost = store.failure !== null || (link?.lost && config.onStoreLoss === "deny");
    return isStoreLost || shared?.isFresh() === false ? "store_unavailable" : null;
  };
  const counts = {
    runCounts: runCounts(),
    egressCounts: egress.counts,
    requests: new FamilyRequests(config.familyRequests),
  };
  const lag = closers.adopt(new EventLoopLag(), (open) => open.close());
  const bodies = closers.adopt(new Bodies(), (open) => open.close());
  const measured: MeasuredService = {
    ...{
      version: VERSION,
      isolation: sandbox.facts.level,
      runs: runMetrics,
      containers,
      maxSlots: capacity.containers,
      guests,
    },
    ...{ launches, pool, lag, bodies, recordStore, usage, audit, drain, log, ...counts },
    isReady: () => trouble() === null,
    isRedisConnected: () => link && link.lost === null,
    packages: building,
    limitKeys: () => (store instanceof EmbeddedLimitStore ? store.size : null),
  };
  const system: SystemFacts = {
    ...{ startedAt: new Date().toISOString(), node: { name: node, process: runIds.process }, unknownVariables },
    ...{ settings: settingsInForce(config, origins), capacity: { ...capacity } },
    findings: openFindings(config, sandbox.facts, checks, link),
  };
  const { proxies, intake, onRefused } = openIntake(config, capacity.connectionsOfNetwork, log);
  const server = createListener(config, {
    config,
    consoleLogo,
    tokens,
    tasks,
    authenticator: new Authenticator(tokens.verifier, proxies, config.authLimit, log),
    bodies,
    proxies,
    intake,
    limiter,
    issueRate,
    checkRate: new CheckRate(store, config.familyChecks),
    policies,
    restarts,
    containers,
    packages,
    sources: openSources(config, egress),
    records,
    nodes,
    log,
    usage,
    audit,
    drain,
    recordStore,
    runIds,
    traces,
    cancel: (container, run, by) => cancelRun(guests, container, run, by),
    ...counts,
    runMetrics,
    metricsText: () => metricsText(measured),
    metricsToken,
    running: config.killRevoked ? new ActiveRuns(tokens.store, tokens.verifier) : null,
    isolation: sandbox.facts,
    system,
    trouble,
  });
  servers.push(server);
  closers.adopt(server, (open) => open.closeAllConnections());
  server.maxConnections = capacity.connections;
  const openConnections = new OpenConnections(server);
  if (identity) await loadAsRoot(history, identity, closers);
  if (identity) await giveFolder(folder, identity);
  await listen(server, config);
  const url = urlOf(server, config.tlsCert !== null);
  const consoleParts = { logo: consoleLogo, proxies, intake, onRefused };
  const console = await openConsole(config, server, consoleParts, closers);
  if (console) servers.push(console);
  keepCode();
  // Before the first byte is read from the network. Ports below 1024, certificates and the launcher needed root.
  if (identity) giveUpRoot(identity);
  // As the service's user, whose socket it is.
  openBackups(config, { folder, history: history.folder, databases, keys: tokens.keys.file, store, log }, closers);
  await nodes?.announce();
  // Not before: a start that is refused prints its reason alone.
  if (isNew) log.pino.info({ folder: data }, "data folder created");
  return {
    url,
    consoleUrl: console ? consoleUrlOf(console, url) : `${url}/`,
    isolation: sandbox.facts,
    adminTokenFile,
    lost: lost.promise,
    stop: async () => {
      draining = true;
      traces.stopping();
      await nodes?.close();
      // A stream of events does not end by itself, and the drain waits for all answers.
      records.tail.close();
      await drained(server, openConnections, containers);
      await closers.disposeAsync();
    },
  };
}
