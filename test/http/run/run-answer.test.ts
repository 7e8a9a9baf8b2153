import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { it, type TestContext } from "node:test";

import type { Guest } from "../../../src/containers/guest/guest.ts";
import { Execution } from "../../../src/http/run/execution.ts";
import { RunAnswer } from "../../../src/http/run/run-answer.ts";
import { collect, respond } from "../../contract/http.ts";
import { listening } from "../listening.ts";

const ignore = (): void => {};
/** More than the sockets of a connection hold. */
const BODY = Buffer.alloc(64 * 2 ** 20);

interface Streamed {
  /** What the client got, paused. */
  readonly got: IncomingMessage;
  readonly response: ServerResponse;
  /** The answer has ended, whole or not. */
  readonly closed: Promise<unknown>;
}

/** An answer whose body the guest has made to its end when its head has left. */
async function made(t: TestContext, streamMs: number): Promise<Streamed> {
  const asked = Promise.withResolvers<ServerResponse>();
  const port = await listening(t, { request: (_, response) => asked.resolve(response) });
  const answered = respond(port, "GET", "/", {});
  const response = await asked.promise;
  const closed = once(response, "close");
  const execution = new Execution({
    over: ignore,
    broke: ignore,
    refused: ignore,
    logSink: { log: ignore, lateError: ignore },
  });
  execution.begin({ grant: ignore } as unknown as Guest, 1);
  execution.head({ status: 200, headers: [] });
  new RunAnswer(response, "run", "token", false, performance.now()).send(await execution.outcome, streamMs);
  execution.data(BODY);
  execution.end();
  return { got: await answered, response, closed };
}

const LONG = { timeout: 30_000 };
it("a body that nobody reads is cut at the limit of streams, also when its task is done with it", LONG, async (t) => {
  const { got, response, closed } = await made(t, 50);
  // Not by the client, which would give up some time.
  got.setTimeout(0);
  await closed;
  assert.equal(response.writableFinished, false);
  assert.equal((await collect(got)).complete, false);
});

it("a body that is read in time is whole", async (t) => {
  const { got } = await made(t, 60_000);
  const { bytes, complete } = await collect(got);
  assert.deepEqual([bytes.length, complete], [BODY.length, true]);
});
