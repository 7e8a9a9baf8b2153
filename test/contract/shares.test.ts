import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";

import { NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const MIB = 2 ** 20;
const BODY_BYTES = 4 * MIB;
/** A body without its last byte, so that the service continues to read. */
const UNFINISHED = Buffer.alloc(BODY_BYTES - 1, " ");
/** The number of senders whose bodies together exceed the memory for bodies. */
const SENDERS = 68;

let service: Service;

before(async () => {
  service = await startService([...NO_WALL, "--token-containers", "100", "--family-requests", "1000"]);
});
after(() => service.stop());

/** An envelope without its last byte, which takes long to check: all of them take seconds, although most of each is blank. */
const SLOW_ENVELOPE = Buffer.from(`{"code":"1","data":[${"[],".repeat(BODY_BYTES / 12)}0]`.padEnd(BODY_BYTES - 1));

/** A task without its last byte, which takes long to read. */
const SLOW_TASK = Buffer.from(`{"code":"1${"\\u0020".repeat(BODY_BYTES / 6 - 10)}"`.padEnd(BODY_BYTES - 1));

interface Sent {
  readonly socket: Socket;
  /** Returns the answer up to now. */
  readonly answer: () => string;
}

interface Unfinished {
  readonly method?: "POST" | "PUT";
  /** The body without its last byte. */
  readonly body?: Buffer;
}

/** Sends a request whose body does not end. */
async function sendUnfinished(
  path: string,
  token: string | null,
  { method = "POST", body = UNFINISHED }: Unfinished = {},
): Promise<Sent> {
  const socket = connect(service.port, "127.0.0.1");
  let answer = "";
  socket.setEncoding("latin1").on("data", (text: string) => (answer += text));
  socket.on("error", () => {});
  const credential = token === null ? "" : `Authorization: Bearer ${token}\r\n`;
  const type = "Content-Type: application/json\r\n";
  socket.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\n${credential}${type}Content-Length: ${BODY_BYTES}\r\n\r\n`);
  await new Promise((resolve) => socket.write(body, resolve));
  return { socket, answer: () => answer };
}

/** Runs an action while many requests to a path stay unfinished. @returns their answers */
async function whileUnfinished(path: string, token: string | null, action: () => Promise<void>): Promise<string[]> {
  const sent: Sent[] = [];
  try {
    for (let index = 0; index < SENDERS; index++) sent.push(await sendUnfinished(path, token));
    await action();
    return sent.map(({ answer }) => answer());
  } finally {
    for (const { socket } of sent) socket.destroy();
  }
}

async function assertServed(): Promise<void> {
  const neighbour = await service.issue({ containers: ["neighbour"] });
  for (let index = 0; index < 5; index++) {
    const answer = await service.run("neighbour", "6 * 7", { token: neighbour });
    assert.equal(answer.text, "42");
  }
  const data = "x".repeat(3 * MIB);
  const large = await service.request("POST", "/api/run/neighbour", {
    token: neighbour,
    json: { code: "(context) => context.body.length", data },
  });
  assert.equal(large.text, String(data.length));
}

/** Returns the ports of clients whose connections the service has not closed (proc(5), `/proc/net/tcp`). */
async function openPorts(): Promise<Set<number>> {
  const lines = (await readFile("/proc/net/tcp", "utf8")).split("\n").slice(1);
  const open = new RegExp(`^ *\\d+: \\S+:${hexPort(service.port)} \\S+:([\\dA-F]{4}) 01 `);
  const ports = lines.map((line) => open.exec(line)?.[1]);
  return new Set(ports.filter((port) => port !== undefined).map((port) => Number.parseInt(port, 16)));
}

function hexPort(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, "0");
}

describe("the memory of bodies", () => {
  it("is not used by a token with nothing left, because its bodies are not read", async () => {
    const spent = await service.issue({ containers: ["spent"], limits: { token: { month: 1 } } });
    await service.run("spent", "1", { token: spent });
    const answers = await whileUnfinished("/api/run/spent", spent, assertServed);
    for (const answer of answers) assert.match(answer, /^HTTP\/1\.1 429 /);
  });

  it("cannot be used up by a token and the tokens below it: the family loses its oldest bodies", async () => {
    const parent = await service.issue({ containers: ["greedy"], can: ["run", "issue"], depth: 1 });
    const answer = await service.request("POST", "/api/tokens", { token: parent, json: { containers: ["greedy"] } });
    const { token: child } = answer.json() as { token: string };
    const answers = await whileUnfinished("/api/run/greedy", child, assertServed);
    const refused = answers.filter((each) => each !== "");
    assert.ok(refused.length > 0);
    for (const each of refused) assert.match(each, /^HTTP\/1\.1 503 [^]*"code":"overloaded"/);
  });

  it("cannot be used up by complete bodies that wait: other bodies of their family are rejected", async () => {
    const greedy = await service.issue({ containers: ["waiting-*"] });
    const sent: Sent[] = [];
    for (let index = 0; index < SENDERS; index++) {
      sent.push(await sendUnfinished(`/api/run/waiting-${index % 10}`, greedy, { body: SLOW_ENVELOPE }));
    }
    for (const { socket } of sent) socket.write("}");
    await assertServed();
    await until(() => sent.every(({ answer }) => answer() !== ""), "all are answered");
    for (const { socket } of sent) socket.destroy();
    for (const { answer } of sent) assert.match(answer(), /^HTTP\/1\.1 (?:200|503) /);
  });

  it("is used by bodies of the API until they are read, and too many of them are rejected", async () => {
    const greedy = await service.issue({ containers: ["keeper"], can: ["tasks"] });
    const sent: Sent[] = [];
    for (let index = 0; index < SENDERS; index++) {
      sent.push(await sendUnfinished("/api/tasks/keeper/slow", greedy, { method: "PUT", body: SLOW_TASK }));
    }
    await until(() => sent.some(({ answer }) => answer() !== ""), "a body is rejected before its end");
    const refused = sent.filter(({ answer }) => answer() !== "");
    for (const { answer } of refused) assert.match(answer(), /^HTTP\/1\.1 503 [^]*"code":"overloaded"/);
    for (const { socket } of sent) socket.write("}");
    await assertServed();
    await until(() => sent.every(({ answer }) => answer() !== ""), "all are answered");
    for (const { socket } of sent) socket.destroy();
    for (const { answer } of sent) assert.match(answer(), /^HTTP\/1\.1 (?:20[01]|503) /);
    assert.ok(
      sent.some(({ answer }) => answer().startsWith("HTTP/1.1 201 ")),
      "no task was stored",
    );
  });

  it("cannot be used up by callers of a public task without a token", async () => {
    const task = { code: "(context) => 1", public: true };
    assert.equal((await service.request("PUT", "/api/tasks/open/hook", { json: task })).status, 201);
    const answers = await whileUnfinished("/api/run/open/hook", null, assertServed);
    // Far fewer of these requests may wait than requests with a token.
    const waiting = answers.filter((each) => each === "");
    assert.ok(waiting.length * BODY_BYTES <= 32 * MIB, `${waiting.length} wait`);
  });
});

describe("the memory of unread answers", () => {
  it("is shared for answers of the API as well", async () => {
    const greedy = await service.issue({ containers: ["greedy-api"], can: ["run", "tasks"] });
    const json = { code: `/* ${"x".repeat(MIB - 100)} */ 1` };
    const path = "/api/tasks/greedy-api/large";
    assert.equal((await service.request("PUT", path, { token: greedy, json })).status, 201);
    const head = `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${greedy}\r\n\r\n`;
    const sockets = Array.from({ length: 20 }, () => {
      const socket = connect(service.port, "127.0.0.1");
      socket.on("error", () => {}).pause();
      socket.write(head.repeat(30));
      return socket;
    });
    await Promise.all(sockets.map((socket) => once(socket, "readable")));
    await assertServed();
    // The sockets do not read, so they do not notice that the service closes one. /proc/net/tcp shows it.
    const isAnyCut = async (): Promise<boolean> => {
      const open = await openPorts();
      return sockets.some(({ localPort }) => !open.has(localPort!));
    };
    await until(isAnyCut, "a connection was cut", 60_000);
    const read = await Promise.all(
      sockets.map(async (socket) => {
        let bytes = 0;
        socket.on("data", (chunk: Buffer) => (bytes += chunk.length));
        await Promise.race([once(socket, "close"), until(() => bytes > 30 * MIB, "all answers were read")]);
        return bytes;
      }),
    );
    for (const socket of sockets) socket.destroy();
    // 20 times 20 MiB, the answers to the requests that Node parses at once, are more than the maximum for all answers together.
    assert.ok(
      read.some((bytes) => bytes < 30 * MIB),
      "no connection was cut",
    );
    assert.ok(
      read.some((bytes) => bytes > 30 * MIB),
      "every connection was cut",
    );
  });

  it("is shared by token families: a token that spreads its answers over child tokens loses its own answers", async () => {
    const code = `"a".repeat(${6 * MIB - 100})`;
    const slow = async (container: string, token: string): Promise<Socket> => {
      const socket = connect({ port: service.port, host: "127.0.0.1" });
      socket.on("error", () => {}).pause();
      const head = `POST /api/run/${container} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`;
      socket.write(`${head}Content-Length: ${code.length}\r\n\r\n${code}`);
      await once(socket, "readable");
      return socket;
    };
    const read = async (socket: Socket): Promise<number> => {
      let bytes = 0;
      socket.on("data", (chunk: Buffer) => (bytes += chunk.length));
      await Promise.race([once(socket, "close"), until(() => bytes > 6 * MIB, "the answer was read")]);
      return bytes;
    };
    const victim = await service.issue({ containers: ["honest"] });
    const parent = await service.issue({ containers: ["evil*"], can: ["run", "issue"], depth: 1 });
    const others: Socket[] = [];
    const slowChild = async (container: string): Promise<Socket> => {
      const issued = await service.request("POST", "/api/tokens", { token: parent, json: { containers: ["evil*"] } });
      const { token } = issued.json() as { token: string };
      return slow(container, token);
    };
    const add = async (rounds: number): Promise<void> => {
      for (let round = 0; round < rounds; round++) {
        others.push(...(await Promise.all([0, 1, 2, 3, 4].map((at) => slowChild(`evil${(5 * round + at) % 8}`)))));
      }
    };
    // 240 of 256 MiB first, and then the victim: a busy machine takes minutes for all, and half a minute without a read cuts any connection.
    await add(8);
    const unread = [await slow("honest", victim), await slow("honest", victim)];
    await add(2);
    for (const socket of unread) assert.ok((await read(socket)) > 6 * MIB);
    for (const socket of [...unread, ...others]) socket.destroy();
  });
});
