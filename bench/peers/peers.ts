import { createRequire } from "node:module";
import path from "node:path";

import type { Bench } from "../bench.ts";
import { CODES, textOf } from "../load/codes.ts";
import { load, type LoadResult } from "../load/wrk.ts";
import { type Measured, startServer } from "../processes.ts";
import type { Figure, Peer, Round, Row } from "../row.ts";
import { inTurns } from "../rows/compare.ts";
import { installPeers } from "./install.ts";

const CONNECTIONS = 32;
/** The maximum rounds of a peer: most peers are so slow that their figures hardly differ. */
const ROUNDS = 3;
const URL_LINE = /^http\S+$/;
/** The line that workerd prints on a descriptor for events. */
const WORKERD_LINE = /"event":"listen".*"port":(\d+)/;
/** What a peer must return for the code of the load. */
const RESULT = "42";

const FIGURES: readonly Figure[] = [
  { id: "ratio", title: "new code each time", unit: "of bare", better: "more", aim: null, budget: null },
  { id: "perSecond", title: "new code each time", unit: "runs/s", better: "more", aim: null, budget: null },
  { id: "oneP50Ms", title: "one new text after the other, p50", unit: "ms", better: "less", aim: null, budget: null },
];
const WARM: Figure = { id: "warmRatio", title: "warm", unit: "of bare", better: "more", aim: null, budget: null };

/** Starts a peer as a server that runs the body of each request as the body of a function. */
type Start = () => Promise<Measured>;

/** The rows of other runtimes. All get the requests that the service gets in the row `new-body`. */
export const PEER_ROWS: readonly Row[] = [
  peerRow("workerd", { name: "workerd, Worker Loader", package: "workerd", each: "an isolate" }, startWorkerd, "/warm"),
  peerRow("isolated-vm", { name: "isolated-vm", package: "isolated-vm", each: "an isolate" }, () =>
    startNode("isolated-vm.ts", "--no-node-snapshot"),
  ),
  peerRow("secure-exec", { name: "secure-exec", package: "secure-exec", each: "an isolate in another process" }, () =>
    startNode("secure-exec.ts"),
  ),
  peerRow("worker-thread", { name: "worker thread of Node", each: "a thread, no sandbox" }, () =>
    startNode("worker-thread.ts"),
  ),
  peerRow("process", { name: "process of Node", each: "a process, no sandbox" }, () => startNode("process.ts")),
  peerRow(
    "relay",
    { name: "relay to one process of Node", each: "a function, no sandbox, no limits" },
    () => startNode("relay.ts"),
    "/warm",
  ),
];

/** @param warm the path at which the peer keeps what it made from a text; missing if it keeps nothing */
function peerRow(id: string, peer: Peer, start: Start, warm?: string): Row {
  return {
    id: `peer-${id}`,
    title: peer.name,
    figures: warm === undefined ? FIGURES : [...FIGURES, WARM],
    needsWrk: true,
    mostRounds: ROUNDS,
    peer,
    measure: (bench) => measurePeer(bench, peer, start, warm),
  };
}

async function measurePeer(bench: Bench, peer: Peer, start: Start, warm?: string): Promise<Round> {
  if (peer.package !== undefined) await installPeers();
  const bare = await bench.bare();
  await using server = await start();
  await proveThatItRuns(server);
  const { seconds } = bench;
  const run = (to: Measured, connections: number, newEvery: number, prefix: string): Promise<LoadResult> =>
    load(to.url, { connections, seconds, token: "none", newEvery, prefix });
  const fresh = (to: Measured): Promise<LoadResult> => run(to, CONNECTIONS, 1, "/new");
  await bench.warmUp(bare.url, { connections: CONNECTIONS, seconds, token: "none", newEvery: 1, prefix: "/new" });
  await load(server.url, { connections: CONNECTIONS, seconds: 1, token: "none", newEvery: 1, prefix: "/new" });
  const [own, plain] = await inTurns(
    bench.round,
    () => fresh(server),
    () => fresh(bare),
  );
  const one = await run(server, 1, 1, "/new");
  const figures = {
    ratio: own.requestsPerSecond / plain.requestsPerSecond,
    perSecond: own.requestsPerSecond,
    barePerSecond: plain.requestsPerSecond,
    oneP50Ms: one.p50Ms,
    oneP95Ms: one.p95Ms,
  };
  if (warm === undefined) return figures;
  await run(server, CONNECTIONS, 0, warm);
  const [kept, plainKept] = await inTurns(
    bench.round,
    () => run(server, CONNECTIONS, 0, warm),
    () => run(bare, CONNECTIONS, 0, warm),
  );
  return {
    ...figures,
    warmRatio: kept.requestsPerSecond / plainKept.requestsPerSecond,
    warmPerSecond: kept.requestsPerSecond,
  };
}

/** A server that answers without running anything would be the fastest. */
async function proveThatItRuns({ url }: Measured): Promise<void> {
  const number = Math.floor(Math.random() * 1e9);
  for (const [code, expected] of [
    [textOf(CODES.body, number), RESULT],
    [`return ${number} + 1;`, String(number + 1)],
  ]) {
    const answer = await fetch(`${url}/new`, { method: "POST", body: code! });
    const text = await answer.text();
    if (answer.status !== 200 || text !== expected) throw new Error(`it answers ${answer.status}: ${text}`);
  }
}

function startNode(file: string, ...flags: readonly string[]): Promise<Measured> {
  const program = path.join(import.meta.dirname, file);
  return startServer(process.execPath, ["--disable-warning=ExperimentalWarning", ...flags, program], URL_LINE);
}

/** Worker Loader needs `--experimental`. */
function startWorkerd(): Promise<Measured> {
  const { resolve } = createRequire(import.meta.url);
  // The package `workerd` has a Node program in front of this binary, which would not pass on a signal.
  const architecture = process.arch === "arm64" ? "arm64" : "64";
  const binary = resolve(`@cloudflare/workerd-linux-${architecture}/bin/workerd`);
  const config = path.join(import.meta.dirname, "workerd/config.capnp");
  return startServer(binary, ["serve", "--experimental", "--control-fd=1", config], WORKERD_LINE);
}
