import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { it, type TestContext } from "node:test";

import type { Guest } from "../../../src/containers/guest/guest.ts";
import { Execution } from "../../../src/http/run/execution.ts";
import { RunAnswer } from "../../../src/http/run/run-answer.ts";
import type { RunTrace } from "../../../src/http/run/run-trace.ts";
import { collect, respond } from "../../contract/http.ts";
import { listening } from "../listening.ts";
import { SILENT } from "./silent-observer.ts";

const ignore = (): void => {};
/** More bytes than the socket buffers of a connection can contain. */
const BODY = Buffer.alloc(64 * 2 ** 20);

interface StreamedAnswer {
  /** The answer as the client receives it, paused. */
  readonly received: IncomingMessage;
  readonly response: ServerResponse;
  /** Resolves when the answer has ended, complete or not. */
  readonly closed: Promise<unknown>;
}

/** Sends an answer whose guest completes the body right after the head is sent. */
async function stream(t: TestContext, streamMs: number): Promise<StreamedAnswer> {
  const requested = Promise.withResolvers<ServerResponse>();
  const port = await listening(t, { request: (_, response) => requested.resolve(response) });
  const answered = respond(port, "GET", "/", {});
  const response = await requested.promise;
  const closed = once(response, "close");
  const execution = new Execution(SILENT, {} as RunTrace);
  execution.begin({ inFlight: { grant: ignore } } as unknown as Guest, 1);
  execution.head({ status: 200, headers: [] });
  new RunAnswer(response, "run", "token", false, performance.now()).send(await execution.outcome, streamMs);
  execution.data(BODY);
  execution.end();
  return { received: await answered, response, closed };
}

const LONG = { timeout: 30_000 };
it("an unread body is cut at the time limit of streams, even if its task has finished", LONG, async (t) => {
  const { received, response, closed } = await stream(t, 50);
  // Otherwise the client itself would end the connection after some time.
  received.setTimeout(0);
  await closed;
  assert.equal(response.writableFinished, false);
  assert.equal((await collect(received)).complete, false);
});

it("a body that the client reads in time is complete", async (t) => {
  const { received } = await stream(t, 60_000);
  const { bytes, complete } = await collect(received);
  assert.deepEqual([bytes.length, complete], [BODY.length, true]);
});
