import { Readable, Writable } from "node:stream";

import { checkHeader } from "../../wire/head.ts";
import { Body } from "../body.ts";
import { contextOf, type TaskContext } from "../context.ts";
import { threwFault } from "../faults.ts";
import { isValue } from "../parse-body.ts";
import { isThenable, whenSettled } from "../promises.ts";
import type { RequestBody } from "../request-body.ts";
import type { Run } from "../run.ts";
import { parameterNames } from "./parameters.ts";
import type { Shape, Submitted } from "./shape.ts";

/** Names of the last two parameters of a handler. */
const OF_HANDLER = /^_*(?:req|request|r|res|resp|response|reply|rsp|out|w)$/i;

/** Whether a function of three parameters answers by its third one, as far as its source shows. */
function isHandler(source: string): boolean {
  const [, second, third] = parameterNames(source);
  if (second === undefined || third === undefined || OF_HANDLER.test(second) || OF_HANDLER.test(third)) return true;
  const own = third.replaceAll("$", "\\$");
  // It calls a method of the parameter, or hands it on.
  return new RegExp(String.raw`(?<![\w$.])${own}\s*\??[.[](?!\d)|[(,]\s*${own}\s*[,)](?!\s*(?:\{|=>))`).test(source);
}

/** The shape of a Node handler: a function that reads from `req` and writes its answer to `res`. */
export function nodeShape(fn: Submitted, source: string): Shape {
  return {
    needsContext: true,
    answersBy: isHandler(source) ? "response" : "three",
    // JSON and forms are parsed into `body`, as in frameworks for Node. The handler can also read them as a stream.
    streamsBody: (run) => !isValue(run) || isLong(run),
    run: (run) => {
      const context = contextOf(run);
      const returned = fn(context, new TaskRequest(context, run), new TaskResponse(run));
      if (isThenable(returned))
        whenSettled(
          returned,
          () => {},
          (error) => run.fault(threwFault(error)),
        );
    },
  };
}

/** Whether the body is longer than the limit of parsed bodies, or of unknown length. It is then only streamed. */
function isLong(run: Run): boolean {
  const length = run.request().headers["content-length"];
  return length === undefined || Number(length) > run.requestBody!.maxBufferedBytes;
}

/** The request as a stream: the streamed body, or the data of an envelope. Data other than a string is encoded as JSON. */
class TaskRequest extends Readable {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly httpVersion = "1.1";
  readonly body: unknown;

  readonly #streamed: RequestBody | null;

  constructor(context: TaskContext, run: Run) {
    super();
    const rawBody = run.rawBody && run.requestBody!.take();
    this.method = context.method;
    // A path, as node:http gives it.
    this.url = context.url.replace(/^[a-z]+:\/\/[^/?#]*/i, "") || "/";
    this.headers = context.headers;
    this.body = context.body;
    this.#streamed = rawBody ? null : run.requestBody;
    if (this.#streamed) return;
    if (rawBody) this.push(rawBody);
    else if (context.body !== undefined) {
      this.push(typeof context.body === "string" ? context.body : JSON.stringify(context.body));
    }
    this.push(null);
  }

  override _read(): void {
    if (!this.#streamed) return;
    whenSettled(
      this.#streamed.read(),
      (piece) => this.push(piece),
      (error) => this.destroy(error as Error),
    );
  }
}

/** The response that a handler writes to. It has the members of `http.ServerResponse` that handlers use. */
class TaskResponse extends Writable {
  statusCode = 200;
  statusMessage = "";
  readonly #run: Run;
  readonly #body: Body;
  readonly #headers = new Map<string, { name: string; value: string[] }>();

  constructor(run: Run) {
    super({ decodeStrings: true });
    this.#run = run;
    this.#body = new Body(run, () => this.destroy());
    this.on("error", (error) => run.fault(threwFault(error)));
  }

  get headersSent(): boolean {
    return this.#run.headSent;
  }

  setHeader(name: string, value: number | string | readonly string[]): this {
    if (this.headersSent)
      throw new Error(`header "${name}" is set after the head was sent; set it before the first write`);
    const values = Array.isArray(value) ? value.map(String) : [String(value)];
    // Checked here, so that the stack contains the faulty line of the task.
    for (const each of values) checkHeader(name, each);
    this.#headers.set(name.toLowerCase(), { name, value: values });
    return this;
  }

  getHeader(name: string): string | string[] | undefined {
    const value = this.#headers.get(name.toLowerCase())?.value;
    return value?.length === 1 ? value[0] : value;
  }

  getHeaders(): Record<string, string | string[] | undefined> {
    return Object.fromEntries(this.getHeaderNames().map((name) => [name, this.getHeader(name)]));
  }

  getHeaderNames(): string[] {
    return [...this.#headers.keys()];
  }

  hasHeader(name: string): boolean {
    return this.#headers.has(name.toLowerCase());
  }

  removeHeader(name: string): void {
    this.#headers.delete(name.toLowerCase());
  }

  writeHead(status: number, ...rest: (string | Record<string, number | string | string[]> | undefined)[]): this {
    if (this.headersSent) throw new Error("the head was sent already; call writeHead once, before the first write");
    this.statusCode = status;
    const headers = rest.find((each) => typeof each === "object");
    for (const [name, value] of Object.entries(headers ?? {})) this.setHeader(name, value);
    return this;
  }

  /** Ignores the trailers: proxies drop them, and few clients read them. */
  addTrailers(): void {}

  flushHeaders(): void {
    if (this.headersSent) return;
    const headers: string[] = [];
    this.#headers.forEach(({ name, value }) => value.forEach((each) => headers.push(name, each)));
    this.#body.head(this.statusCode, headers);
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    const headError = this.#tryHead();
    if (headError) return done(headError);
    const wait = this.#body.write(chunk);
    if (wait) void this.#whenSent(wait, done);
    else done();
  }

  async #whenSent(wait: Promise<void>, done: (error?: Error | null) => void): Promise<void> {
    await wait;
    done();
  }

  override _final(done: (error?: Error | null) => void): void {
    const headError = this.#tryHead();
    if (!headError) this.#body.end();
    done(headError);
  }

  /** Fails the run if the handler destroys the response without an error. Otherwise the caller would wait until the deadline. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!error && !this.#run.over)
      this.#run.fault(threwFault(new Error("the handler destroyed its response before the response was complete")));
    done(error);
  }

  /** Returns the error of the head instead of throwing it. After a throw, the stream would wait for this write until the deadline. */
  #tryHead(): Error | null {
    try {
      this.flushHeaders();
      return null;
    } catch (error) {
      return error as Error;
    }
  }
}
