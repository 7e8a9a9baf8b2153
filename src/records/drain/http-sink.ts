import { Agent as HttpAgent, type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";

import { DeliveryError, type DrainSink, RejectedBatch } from "./drain.ts";
import { withoutPath } from "./file-sink.ts";

/** The longest time for one batch, from the connection to the answer. */
const TIMEOUT_MS = 30_000;
/** The statuses by which a collector rejects this batch and would reject it again (RFC 9110, section 15.5). */
const REJECTED = new Set([400, 413, 414, 415, 422]);

/** Posts lines to a collector. Redirects are not followed, because they would lead records and the credential elsewhere. */
export class HttpSink implements DrainSink {
  readonly #url: URL;
  readonly #authorization: string | null;
  readonly #agent: HttpAgent;

  /** @param authorization the value of the `Authorization` header, or null. */
  constructor(url: URL, authorization: string | null) {
    this.#url = url;
    this.#authorization = authorization;
    const options = { keepAlive: true, maxSockets: 1 };
    this.#agent = url.protocol === "https:" ? new HttpsAgent(options) : new HttpAgent(options);
  }

  async deliver(lines: Buffer, signal: AbortSignal): Promise<void> {
    const { statusCode = 0, headers } = await this.#post(lines, signal);
    if (statusCode >= 200 && statusCode < 300) return;
    const message = `the collector answered ${statusCode}`;
    if (REJECTED.has(statusCode)) throw new RejectedBatch(message);
    const seconds = Number(headers["retry-after"]);
    throw new DeliveryError(message, seconds > 0 ? seconds * 1_000 : 0);
  }

  close(): Promise<void> {
    this.#agent.destroy();
    return Promise.resolve();
  }

  #post(lines: Buffer, signal: AbortSignal): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const request = this.#request(lines, AbortSignal.any([signal, timeout]));
    const late = `the collector did not answer in ${TIMEOUT_MS / 1_000} s`;
    request.on("error", (error) => reject(timeout.aborted ? new DeliveryError(late) : withoutPath(error)));
    request.on("response", (response) => {
      // The body has nothing of interest. A collector that never ends it runs into the timeout, as an error that is ignored.
      response.on("error", () => {}).resume();
      resolve(response);
    });
    request.end(lines);
    return promise;
  }

  #request(lines: Buffer, signal: AbortSignal): ClientRequest {
    const headers = {
      "Content-Type": "application/x-ndjson",
      "Content-Length": lines.length,
      ...(this.#authorization !== null && { Authorization: this.#authorization }),
    };
    const send = this.#url.protocol === "https:" ? httpsRequest : httpRequest;
    return send(this.#url, { method: "POST", headers, agent: this.#agent, signal });
  }
}
