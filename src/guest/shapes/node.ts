import { Readable, Writable } from "node:stream";

import { checkHeader } from "../../wire/head.ts";
import { Body } from "../body.ts";
import { contextOf, type TaskContext } from "../context.ts";
import { threwFault } from "../faults.ts";
import { isValue } from "../parse-body.ts";
import { isThenable, whenSettled } from "../promises.ts";
import type { Incoming } from "../request-body.ts";
import type { Run } from "../run.ts";
import type { Shape, Submitted } from "./shape.ts";

/** A function that reads from `req` and writes its answer to `res`, in Node's manner. */
export function nodeShape(fn: Submitted): Shape {
  return {
    needsContext: true,
    answersBy: "response",
    // What is a value is there whole as `body`, as frameworks for Node have it, and can be read as a stream all the same.
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

/** Beyond what the service checks before it starts a run, a value is a stream like any other. */
function isLong(run: Run): boolean {
  const length = run.request().headers["content-length"];
  return length === undefined || Number(length) > run.incoming!.mostGathered;
}

/** The request as a stream: its body as it comes, or what an envelope gave as data, as JSON where that is no text. */
class TaskRequest extends Readable {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly httpVersion = "1.1";
  readonly body: unknown;

  readonly #incoming: Incoming | null;

  constructor(context: TaskContext, { incoming, raw }: Run) {
    super();
    this.method = context.method;
    // A path, as node:http gives it.
    this.url = context.url.replace(/^[a-z]+:\/\/[^/?#]*/i, "") || "/";
    this.headers = context.headers;
    this.body = context.body;
    this.#incoming = raw ? null : incoming;
    if (this.#incoming) return;
    if (raw) this.push(raw);
    else if (context.body !== undefined) {
      this.push(typeof context.body === "string" ? context.body : JSON.stringify(context.body));
    }
    this.push(null);
  }

  override _read(): void {
    if (!this.#incoming) return;
    whenSettled(
      this.#incoming.read(),
      (piece) => this.push(piece),
      (error) => this.destroy(error as Error),
    );
  }
}

/** What a handler writes its answer to: the members of `http.ServerResponse` that handlers use. */
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
    // Here, so that the stack names the line of the task that is wrong.
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
    if (this.headersSent) throw new Error("the head was sent already; writeHead comes before the first write, once");
    this.statusCode = status;
    const headers = rest.find((each) => typeof each === "object");
    for (const [name, value] of Object.entries(headers ?? {})) this.setHeader(name, value);
    return this;
  }

  /** Nothing follows a body here: proxies on the way drop trailers, and few clients see them. */
  addTrailers(): void {}

  flushHeaders(): void {
    if (this.headersSent) return;
    const headers: string[] = [];
    this.#headers.forEach(({ name, value }) => value.forEach((each) => headers.push(name, each)));
    this.#body.head(this.statusCode, headers);
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    const wrong = this.#tryHead();
    if (wrong) return done(wrong);
    const wait = this.#body.write(chunk);
    if (wait) void this.#whenSent(wait, done);
    else done();
  }

  async #whenSent(wait: Promise<void>, done: (error?: Error | null) => void): Promise<void> {
    await wait;
    done();
  }

  override _final(done: (error?: Error | null) => void): void {
    const wrong = this.#tryHead();
    if (!wrong) this.#body.end();
    done(wrong);
  }

  /** Without an error no event tells of it but `close`, and who waits for the rest would wait until the deadline. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!error && !this.#run.over)
      this.#run.fault(threwFault(new Error("the handler destroyed its response before that was complete")));
    done(error);
  }

  /** Gives what is wrong with the head to the stream, which a throw would leave waiting for this write until the deadline. */
  #tryHead(): Error | null {
    try {
      this.flushHeaders();
      return null;
    } catch (error) {
      return error as Error;
    }
  }
}
