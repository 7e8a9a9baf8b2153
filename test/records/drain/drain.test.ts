import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Readable } from "node:stream";
import { describe, it, type TestContext } from "node:test";

import { drainTarget } from "../../../src/config/drain-target.ts";
import { type Drain, type DrainRecord, type DrainSink, RejectedBatch } from "../../../src/records/drain/drain.ts";
import { openDrain } from "../../../src/records/drain/open-drain.ts";
import { QueuedDrain, type QueueOptions } from "../../../src/records/drain/queued-drain.ts";
import { until } from "../../contract/until.ts";
import { BOUNDS } from "../bounds.ts";

const FAST: QueueOptions = { collectMs: 5, firstPauseMs: 5, longestPauseMs: 20 };

const NO_LOSSES = { dropped: 0, omitted: 0, rejected: 0, failure: null };

function lineOf(text: string, family = "family", container = family): DrainRecord {
  return { family, network: null, container, leastBytes: 1, text: () => text };
}

async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-drain-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function openTo(target: string, authorization: string | null = null, options = FAST): Promise<Drain> {
  return (await openDrain(
    { ...BOUNDS, logDrain: drainTarget(target), logDrainRate: 2 ** 30, logDrainAuthorization: authorization },
    options,
  ))!;
}

function texts(stream: Readable): () => string {
  let text = "";
  stream.setEncoding("utf8").on("data", (part: string) => (text += part));
  return () => text;
}

function mustBeComplete(output: string): void {
  const lines = output.trimEnd().split("\n");
  assert.equal(lines.length, 20_000);
  for (const [at, line] of lines.entries()) assert.equal((JSON.parse(line) as { at: number }).at, at);
}

describe("the queue of a drain", () => {
  class Sink implements DrainSink {
    readonly batches: string[] = [];
    outcome: () => Promise<void> = () => Promise.resolve();

    async deliver(lines: Buffer): Promise<void> {
      await this.outcome();
      this.batches.push(lines.toString());
    }

    close(): Promise<void> {
      return Promise.resolve();
    }
  }

  it("delivers all lines in order, in batches, and the rest at its close", async () => {
    const sink = new Sink();
    const drain = new QueuedDrain(sink, { ...FAST, batchBytes: 100 });
    for (let at = 0; at < 50; at++) drain.add(lineOf(JSON.stringify({ at })));
    await drain.close();
    const lines = sink.batches.join("").trimEnd().split("\n");
    assert.deepEqual(
      lines,
      Array.from({ length: 50 }, (_, at) => JSON.stringify({ at })),
    );
    assert.ok(sink.batches.length > 3);
    assert.ok(sink.batches.every((batch) => batch.length <= 100 && batch.endsWith("\n")));
    assert.deepEqual(drain.losses, NO_LOSSES);
  });

  it("drops what does not fit while the collector does not answer, and counts it", async () => {
    const sink = new Sink();
    const blocked = Promise.withResolvers<void>();
    sink.outcome = () => blocked.promise;
    const drain = new QueuedDrain(sink, { ...FAST, queueBytes: 1_000, batchBytes: 100 });
    for (let at = 0; at < 300; at++) drain.add(lineOf("x".repeat(9)));
    assert.equal(drain.losses.dropped, 200);
    blocked.resolve();
    await drain.close();
    assert.equal(sink.batches.join("").length, 1_000);
    assert.equal(drain.losses.dropped, 200);
  });

  it("has room again for what was delivered, with characters of several bytes", async () => {
    const sink = new Sink();
    const drain = new QueuedDrain(sink, { ...FAST, queueBytes: 100 });
    for (let round = 1; round <= 30; round++) {
      for (let at = 0; at < 10; at++) drain.add(lineOf("äöü"));
      await until(() => sink.batches.join("").length === round * 40, "the batch is delivered");
    }
    await drain.close();
    assert.deepEqual(drain.losses, NO_LOSSES);
  });

  it("sends a batch again after a failure, reports it once, and forgets it after a success", async () => {
    const sink = new Sink();
    let attempts = 0;
    sink.outcome = () => (++attempts < 4 ? Promise.reject(new Error("ECONNREFUSED")) : Promise.resolve());
    const failures: string[] = [];
    const drain = new QueuedDrain(sink, { ...FAST, onFailure: ({ message }) => failures.push(message) });
    drain.add(lineOf("1"));
    await until(() => drain.losses.failure !== null || sink.batches.length > 0, "it has failed");
    await until(() => sink.batches.length > 0, "the batch is delivered");
    await drain.close();
    const failure = "records cannot be sent to the log drain: ECONNREFUSED";
    assert.deepEqual([sink.batches, failures, attempts], [["1\n"], [failure], 4]);
    assert.deepEqual(drain.losses, NO_LOSSES);
  });

  it("drops a batch that the collector rejects, and goes on with the next", async () => {
    const sink = new Sink();
    sink.outcome = () => {
      sink.outcome = () => Promise.resolve();
      return Promise.reject(new RejectedBatch("413"));
    };
    const drain = new QueuedDrain(sink, { ...FAST, batchBytes: 2 });
    drain.add(lineOf("1"));
    drain.add(lineOf("2"));
    await drain.close();
    assert.deepEqual([sink.batches, drain.losses.rejected], [["2\n"], 1]);
  });

  it("drops the lines of the family with the most bytes, and never those of a smaller one", async () => {
    const sink = new Sink();
    const blocked = Promise.withResolvers<void>();
    sink.outcome = () => blocked.promise;
    const drain = new QueuedDrain(sink, { ...FAST, queueBytes: 10_000, batchBytes: 100 });
    for (let at = 0; at < 300; at++) drain.add(lineOf("x".repeat(99), "loud"));
    assert.equal(drain.losses.dropped, 200);
    for (let at = 0; at < 70; at++) {
      drain.add(lineOf(`quiet ${at}`, "quiet"));
      drain.add(lineOf("x".repeat(99), "loud"));
    }
    blocked.resolve();
    await drain.close();
    const lines = sink.batches.join("").trimEnd().split("\n");
    assert.deepEqual(
      lines.filter((line) => line.startsWith("quiet")),
      Array.from({ length: 70 }, (_, at) => `quiet ${at}`),
    );
    assert.equal(lines.length + drain.losses.dropped, 300 + 140);
    assert.ok(lines.length > 140, `${lines.length} lines`);
  });

  it("has room for all families in equal parts while the collector does not answer", async () => {
    const sink = new Sink();
    const blocked = Promise.withResolvers<void>();
    sink.outcome = () => blocked.promise;
    const drain = new QueuedDrain(sink, { ...FAST, queueBytes: 10_000, batchBytes: 100 });
    for (const family of ["a", "b", "c", "d"]) {
      for (let at = 0; at < 300; at++) drain.add(lineOf(family.repeat(9), family));
    }
    blocked.resolve();
    await drain.close();
    const lines = sink.batches.join("").trimEnd().split("\n");
    for (const family of ["a", "b", "c", "d"]) {
      const count = lines.filter((line) => line.startsWith(family)).length;
      assert.ok(count > 200 && count < 300, `${count} lines of ${family}`);
    }
  });

  it("leaves out what a family or a container sends beyond its share of a minute, and makes no text of it", async () => {
    const sink = new Sink();
    const drain = new QueuedDrain(sink, { ...FAST, rateBytes: 1_000 });
    let made = 0;
    const text = (): string => {
      made += 1;
      return "x".repeat(99);
    };
    const record = (family: string, container: string): DrainRecord => ({
      family,
      network: null,
      container,
      leastBytes: 99,
      text,
    });
    for (let at = 0; at < 50; at++) drain.add(record("loud", `c${at}`));
    drain.add(record("quiet", "q"));
    // A minute may have begun meanwhile.
    assert.ok(made <= 21, `${made} texts`);
    assert.equal(drain.losses.omitted, 51 - made);
    await drain.close();
    assert.equal(drain.losses.dropped, 0);
    assert.equal(sink.batches.join("").length, made * 100);
  });

  it("leaves the owner half of the share if clients without a token flood it, and three quarters against one network", async () => {
    const sink = new Sink();
    const drain = new QueuedDrain(sink, { ...FAST, rateBytes: 10_000 });
    const took = (network: string | null): number => {
      const before = drain.losses.omitted;
      for (let at = 0; at < 200; at++) drain.add({ ...lineOf("x".repeat(99), "f"), network });
      return 200 - (drain.losses.omitted - before);
    };
    // A minute may begin meanwhile, and then each may take as much again.
    const [first, second, third, owner] = [took("10.0.0.1"), took("10.0.0.2"), took("10.0.0.3"), took(null)];
    assert.ok(first === 25 || first === 50, `${first} of one network`);
    assert.ok(first + second + third <= 100, `${first + second + third} of all networks`);
    assert.ok(owner >= 50, `${owner} of the owner`);
    await drain.close();
  });

  it("ends its close in time if the collector is gone, and counts the rest as dropped", async () => {
    const sink = new Sink();
    sink.outcome = () => Promise.reject(new Error("ECONNREFUSED"));
    const drain = new QueuedDrain(sink, { ...FAST, closeMs: 50 });
    for (let at = 0; at < 10; at++) drain.add(lineOf("x"));
    await drain.close();
    drain.add(lineOf("after the close"));
    assert.equal(drain.losses.dropped, 11);
  });
});

describe("a drain to a file", () => {
  it("appends lines, and opens the file again after it was rotated", async (t) => {
    const file = path.join(await newFolder(t), "records.ndjson");
    await writeFile(file, "earlier\n");
    const drain = await openTo(`file:${file}`);
    drain.add(lineOf("1"));
    await until(async () => (await readFile(file, "utf8")) === "earlier\n1\n", "the line is written");
    await rename(file, `${file}.1`);
    drain.add(lineOf("2"));
    await until(async () => (await readFile(file, "utf8").catch(() => "")) === "2\n", "the new file has the line");
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    await rm(file);
    drain.add(lineOf("3"));
    await drain.close();
    assert.equal(await readFile(file, "utf8"), "3\n");
    assert.equal(await readFile(`${file}.1`, "utf8"), "earlier\n1\n");
  });

  it("waits for a folder that is missing, and its failure has no path", async (t) => {
    const folder = path.join(await newFolder(t), "later");
    const drain = await openTo(`file:${folder}/records.ndjson`);
    drain.add(lineOf("1"));
    await until(() => drain.losses.failure !== null, "it has failed");
    assert.equal(drain.losses.failure, "records cannot be sent to the log drain: ENOENT");
    assert.equal(spawnSync("mkdir", [folder]).status, 0);
    await drain.close();
    assert.equal(await readFile(path.join(folder, "records.ndjson"), "utf8"), "1\n");
  });
});

describe("a drain to the standard output", () => {
  /** Adds many lines, closes the drain when its standard input ends, and exits as the service does. */
  const program = `
    import { openDrain } from ${JSON.stringify(path.resolve("src/records/drain/open-drain.ts"))};
    const options = { closeMs: Number(process.argv[1]) };
    const bounds = ${JSON.stringify({ ...BOUNDS, logDrain: { kind: "stdout" }, logDrainRate: 2 ** 30 })};
    const drain = await openDrain(bounds, options);
    for (let at = 0; at < 20000; at++) {
      const text = () => JSON.stringify({ at, text: "x".repeat(100) });
      drain.add({ family: "f", network: null, container: "c", leastBytes: 100, text });
    }
    // A turn of the event loop shows that the process goes on while the pipe is full.
    setTimeout(() => process.stderr.write("alive\\n"), 400);
    process.stdin.resume().once("end", async () => {
      await drain.close();
      process.stderr.write(JSON.stringify(drain.losses) + "\\n", () => process.exit());
    });`;

  function start(stdout: "pipe" | number, closeMs: number): ChildProcess {
    const words = ["--input-type=module", "--eval", program, String(closeMs)];
    return spawn(process.execPath, words, { stdio: ["pipe", stdout, "pipe"] });
  }

  it("writes whole lines into a pipe that is slowly read, and does not stop the process", async () => {
    const child = start("pipe", 60_000);
    const stderr = texts(child.stderr!);
    await until(() => stderr().includes("alive"), "the process goes on");
    child.stdin!.end();
    const stdout = texts(child.stdout!);
    assert.deepEqual(await once(child, "close"), [0, null]);
    mustBeComplete(stdout());
    assert.match(stderr(), /"dropped":0/);
  });

  it("writes whole lines into a file", async (t) => {
    const name = path.join(await newFolder(t), "output");
    await using file = await open(name, "w");
    const child = start(file.fd, 60_000);
    child.stdin!.end();
    assert.deepEqual(await once(child, "close"), [0, null]);
    mustBeComplete(await readFile(name, "utf8"));
  });

  it("lets the process end while the pipe is full, or closed, and counts the rest as dropped", async () => {
    for (const isClosed of [false, true]) {
      const child = start("pipe", 100);
      const stderr = texts(child.stderr!);
      if (isClosed) child.stdout!.destroy();
      await until(() => stderr().includes("alive"), "the process goes on");
      const closed = once(child, "close");
      child.stdin!.end();
      assert.deepEqual(await once(child, "exit"), [0, null]);
      child.stdout!.destroy();
      await closed;
      assert.match(stderr(), /"dropped":[1-9]/);
    }
  });
});

describe("a drain to a collector", () => {
  interface Request {
    readonly headers: IncomingMessage["headers"];
    readonly url: string;
    readonly body: string;
  }

  async function collector(
    t: TestContext,
    answer: (response: ServerResponse, attempt: number) => void,
  ): Promise<{ url: string; requests: Request[] }> {
    const requests: Request[] = [];
    const server: Server = createServer((request, response) => {
      void (async () => {
        let body = "";
        for await (const part of request.setEncoding("utf8")) body += String(part);
        requests.push({ headers: request.headers, url: request.url!, body });
        answer(response, requests.length);
      })();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/in?key=secret`, requests };
  }

  it("posts batches as NDJSON, with the authorization of the file", async (t) => {
    const file = path.join(await newFolder(t), "authorization");
    await writeFile(file, "Bearer abc\n");
    const { url, requests } = await collector(t, (response) => response.end());
    const drain = await openTo(url, file);
    drain.add(lineOf('{"at":1}'));
    drain.add(lineOf('{"at":2}'));
    await drain.close();
    const [{ headers, body, url: target }] = requests as [Request];
    assert.deepEqual([target, body], ["/in?key=secret", '{"at":1}\n{"at":2}\n']);
    assert.deepEqual([headers["content-type"], headers.authorization], ["application/x-ndjson", "Bearer abc"]);
  });

  it("sends a batch again after 503, 429 and a lost connection, and drops it after 400", async (t) => {
    const answers = [503, 429, 0, 200, 400, 200];
    const { url, requests } = await collector(t, (response, attempt) => {
      const status = answers[attempt - 1]!;
      if (status === 0) response.destroy();
      else response.writeHead(status).end();
    });
    const drain = await openTo(url, null, { ...FAST, batchBytes: 4 });
    for (const line of ["one", "two", "three"]) drain.add(lineOf(line));
    await until(() => requests.length === answers.length, "all attempts were made");
    await drain.close();
    assert.deepEqual(
      requests.map(({ body }) => body.trim()),
      ["one", "one", "one", "one", "two", "three"],
    );
    assert.deepEqual(drain.losses, { ...NO_LOSSES, rejected: 1 });
  });

  it("does not follow a redirect, and names no URL in its failure", async (t) => {
    const { url, requests } = await collector(t, (response) => {
      response.writeHead(307, { Location: "/elsewhere" }).end();
    });
    const drain = await openTo(url, null, { ...FAST, closeMs: 50 });
    drain.add(lineOf("1"));
    await until(() => drain.losses.failure !== null, "it has failed");
    assert.equal(drain.losses.failure, "records cannot be sent to the log drain: the collector answered 307");
    await drain.close();
    assert.ok(requests.every(({ url: target }) => target === "/in?key=secret"));
  });

  it("rejects a file with an authorization that is not one line, without its content", async (t) => {
    const file = path.join(await newFolder(t), "authorization");
    for (const content of ["", "Bearer a\r\nX-Other: secret", "Bearer ä"]) {
      await writeFile(file, content);
      await assert.rejects(openTo("https://collector.example/", file), (error: Error) => {
        assert.match(error.message, /--log-drain-authorization: .* must contain one line/);
        assert.ok(!/secret|Bearer a|ä/.test(error.message));
        return true;
      });
    }
  });
});
