import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

import { ConnectionShares } from "../../src/egress/connection-shares.ts";
import type { Egress } from "../../src/egress/egress.ts";
import { LocalPorts } from "../../src/egress/local-ports.ts";
import { egressPolicy } from "../../src/egress/policy.ts";
import { egressCounts } from "../../src/telemetry/egress-counts.ts";

/** The only name of this network. */
export const PEER = "peer.test";

/** An egress with one destination, which echoes what it receives. */
export interface FuzzedNetwork extends AsyncDisposable {
  readonly egress: Egress;
  readonly port: number;
}

export async function openFuzzedNetwork(): Promise<FuzzedNetwork> {
  const server = createServer((socket) => socket.on("error", () => {}).pipe(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const allow = [PEER, "127.0.0.1"].map((host) => ({ host, port }));
  const resolver = async (name: string): Promise<{ address: string }[]> => {
    return name === PEER ? [{ address: "127.0.0.1" }] : [];
  };
  return {
    port,
    egress: {
      policy: egressPolicy({ mode: "public", allow, resolver }),
      limits: { connections: 2, bytes: 2_000, timeMs: 60_000 },
      connections: new ConnectionShares(100),
      counts: egressCounts(),
      ports: new LocalPorts(),
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, "close");
    },
  };
}
