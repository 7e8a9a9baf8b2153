import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";

import { type Service, shareService } from "./service.ts";

const CONTAINER = "own-request";
const WAVES = 8;
const CALLERS = 24;
const PIPELINED = 8;

/** Reads its context only after other runs have begun and ended. */
const FORMS: Readonly<Record<string, string>> = {
  "a module": `export default async (context) => {
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resume) => setImmediate(resume));
    return [context.query.own, context.headers["x-own"], context.data.own];
  }`,
  "a body": `for (let turn = 0; turn < 3; turn += 1) await new Promise((resume) => setImmediate(resume));
    return [context.query.own, context.headers["x-own"], context.data.own];`,
  "a handler": `export default { async fetch(request) {
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resume) => setImmediate(resume));
    const own = new URL(request.url).searchParams.get("own");
    return Response.json([own, request.headers.get("x-own"), own]);
  } }`,
};

let service: Service;

before(async () => {
  service = await shareService();
});
after(() => service.stop());

function texts(own: string): string {
  return JSON.stringify([own, own, own]);
}

describe("a run that reads its request after an await", () => {
  for (const [name, code] of Object.entries(FORMS)) {
    it(`reads its own request among many parallel runs and aborted ones: ${name}`, async () => {
      for (let wave = 0; wave < WAVES; wave++) {
        const left = new AbortController();
        const runs = Array.from({ length: CALLERS }, async (_, caller) => {
          // Requests of different lengths, so that a text of another run would not even parse.
          const own = `${wave}-${caller}-${"x".repeat((caller * 37) % 211)}`;
          const leaves = caller % 4 === 3;
          const options = { query: { own }, headers: { "x-own": own }, ...(leaves && { signal: left.signal }) };
          try {
            const { status, text } = await service.run(CONTAINER, code, options);
            assert.deepEqual([status, text], [200, texts(own)]);
          } catch (error) {
            if (!leaves || !left.signal.aborted || error instanceof assert.AssertionError) throw error;
          }
          // The first answer shows that the wave has begun.
          left.abort();
        });
        await Promise.all(runs);
      }
    });

    it(`reads its own request on a connection with many requests at once: ${name}`, async () => {
      const socket = connect(service.port, "127.0.0.1");
      try {
        const owns = Array.from({ length: PIPELINED }, (_, at) => `p${at}-${"y".repeat((at * 53) % 97)}`);
        for (const own of owns) {
          socket.write(
            `POST /api/run/${CONTAINER}?own=${own} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.admin}\r\n` +
              `X-Own: ${own}\r\nContent-Length: ${Buffer.byteLength(code)}\r\n\r\n${code}`,
          );
        }
        let received = "";
        socket.setEncoding("utf8");
        const bodies = (): string[] => received.match(/\["p[^\]]*\]/g) ?? [];
        while (bodies().length < PIPELINED) received += ((await once(socket, "data")) as [string])[0];
        assert.deepEqual(bodies(), owns.map(texts));
      } finally {
        socket.destroy();
      }
    });
  }
});
