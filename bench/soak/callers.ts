import { connect } from "node:net";
import { setTimeout } from "node:timers/promises";

import type { Answer, RequestOptions } from "../../test/contract/http.ts";
import type { Service } from "../../test/contract/service.ts";
import type { SoakContext } from "./soak-context.ts";
import { isTurnedAway } from "./tally.ts";

/** Runs the clients that attack the service itself, one after the other. */
export async function callers({ service, tally }: SoakContext, signal: AbortSignal): Promise<void> {
  for (let n = 0; !signal.aborted; n++) {
    const { name, act } = CALLERS[n % CALLERS.length]!;
    const fault = await act(service);
    tally.bad.add("callers");
    if (fault !== null) tally.fault(`a client that ${name} received ${fault}`);
    await setTimeout(PAUSE_MS);
  }
}

/** A client that attacks the service itself. */
interface Caller {
  readonly name: string;
  /** @returns what is wrong with the answer, or null. */
  readonly act: (service: Service) => Promise<string | null>;
}

const PAUSE_MS = 50;
/** The time before a client leaves. */
const STAY_MS = 100;
const MAX_EXCERPT = 300;
const ENDLESS =
  "new ReadableStream({ async pull(c) { await new Promise((end) => setTimeout(end, 5)); c.enqueue('x'.repeat(9999)) } })";
const JSON_TYPE = { "content-type": "application/json" };

const CALLERS: readonly Caller[] = [
  {
    name: "leaves while its run waits",
    act: (service) => leave(service, "await new Promise((never) => setTimeout(never, 60_000))"),
  },
  { name: "leaves in the middle of a stream", act: (service) => leave(service, ENDLESS) },
  {
    name: "leaves in the middle of its body",
    act: (service) => breakOff(service, `${head(service, 100_000)}6 *`),
  },
  { name: "leaves in the middle of its head", act: (service) => breakOff(service, head(service, 5).slice(0, 40)) },
  {
    name: "does not read its answer",
    act: (service) => {
      const code = "return 'y'.repeat(5e6)";
      return breakOff(service, head(service, code.length) + code);
    },
  },
  { name: "does not send HTTP", act: (service) => raw(service, "\u0016\u0003\u0001 no HTTP\r\n\r\n", 400) },
  {
    name: "sends a head without end",
    act: (service) => raw(service, `GET / HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(40_000)}\r\n\r\n`, 431),
  },
  { name: "forges a token", act: (service) => run(service, "1", { token: forged(service.admin) }, 403) },
  { name: "has no token", act: (service) => run(service, "1", { token: null }, 403) },
  {
    name: "names no container",
    act: async (service) => faultOf(await service.run("%2e%2e%2fetc", "1"), 400),
  },
  { name: "sends too much code", act: (service) => run(service, `"${"x".repeat(2 ** 20)}"`, {}, 400) },
  {
    name: "sends JSON without end",
    act: (service) => run(service, `{"code":${"[".repeat(50_000)}`, { headers: JSON_TYPE }, 400),
  },
  { name: "sends code that does not parse", act: (service) => run(service, "const =", {}, 400) },
];

async function run(service: Service, code: string, options: RequestOptions, status: number): Promise<string | null> {
  return faultOf(await service.run("caller", code, options), status);
}

async function raw(service: Service, text: string, status: number): Promise<string | null> {
  const response = await service.raw(text);
  return response.startsWith(`HTTP/1.1 ${status} `) ? null : response.slice(0, MAX_EXCERPT);
}

function faultOf(answer: Answer, status: number): string | null {
  return answer.status === status || isTurnedAway(answer)
    ? null
    : `${answer.status} ${answer.text.slice(0, MAX_EXCERPT)}`;
}

async function leave(service: Service, code: string): Promise<null> {
  await service.run("leaver", code, { signal: AbortSignal.timeout(STAY_MS) }).catch(() => null);
  return null;
}

/** Sends a part of a request, reads nothing, and resets the connection. */
async function breakOff(service: Service, text: string): Promise<null> {
  const socket = connect(service.port, "127.0.0.1")
    .on("error", () => {})
    .pause();
  socket.write(text);
  await setTimeout(STAY_MS);
  socket.resetAndDestroy();
  return null;
}

function head(service: Service, length: number): string {
  const lines = [
    "POST /api/run/leaver HTTP/1.1",
    "Host: x",
    `Authorization: Bearer ${service.admin}`,
    `Content-Length: ${length}`,
  ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** Returns the token with a wrong end of its signature. */
function forged(token: string): string {
  return token.slice(0, -8) + (token.endsWith("A") ? "B" : "A").repeat(8);
}
