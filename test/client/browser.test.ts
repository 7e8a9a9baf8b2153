import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, it } from "node:test";

import type { Browser, Page } from "playwright-core";

import type * as Client from "../../client/src/index.ts";
import { openBrowser } from "../chromium.ts";
import { type Service, shareService } from "../contract/service.ts";

let service: Service;
let browser: Browser;
const pages = createServer();
let token = "";

before(async () => {
  service = await shareService();
  const html = /^```html\n(.*?)^```$/ms.exec(await readFile("docs/how-to/client.md", "utf8"))![1]!;
  const example = html.replaceAll("http://127.0.0.1:7070", service.url);
  const client = await readFile("client/dist/index.js");
  const answers: Readonly<Record<string, readonly [type: string, body: string | Buffer]>> = {
    "/": ["text/html", "<!doctype html><title>a page of another origin</title>"],
    "/example": ["text/html", example],
    "/caisson-client.js": ["text/javascript", client],
    "/token": ["text/plain", ""],
  };
  const answer: RequestListener = ({ url }, response) => {
    const [type, body] = answers[url!] ?? ["text/plain", ""];
    response.writeHead(200, { "content-type": type }).end(url === "/token" ? token : body);
  };
  pages.on("request", answer).listen(0, "127.0.0.1");
  await once(pages, "listening");
  token = await service.issue({ containers: ["*"], can: ["run", "limits", "logs", "tasks", "issue"], depth: 1 });
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  pages.close();
  pages.closeAllConnections();
  await service.stop();
});

async function openPage(path: string): Promise<Page> {
  const page = await browser.newPage();
  await page.goto(`http://localhost:${(pages.address() as AddressInfo).port}${path}`);
  return page;
}

/** Runs a function in a page of another origin, with a client. It must use nothing of this file. */
async function inPage<T>(
  work: (caisson: Client.Caisson, client: typeof Client, text: string) => Promise<T>,
  text = "",
): Promise<T> {
  const page = await openPage("/");
  try {
    const options = JSON.stringify({ url: service.url, token });
    return await page.evaluate(`(async () => {
      const client = await import("/caisson-client.js");
      return (${work.toString()})(new client.Caisson(${options}), client, ${JSON.stringify(text)});
    })()`);
  } finally {
    await page.close();
  }
}

it("the page of the documents shows the result of a run", async () => {
  const page = await openPage("/example");
  await page.waitForSelector("output:not(:empty)");
  assert.equal(await page.textContent("output"), "42");
  await page.close();
});

it("a page of another origin runs code and reads values, bytes and errors", async () => {
  const seen = await inPage(async (caisson, { CaissonError }) => {
    const bytes = await caisson.run<Response>("demo", "return new Uint8Array([0, 255])");
    const error: unknown = await caisson.run("demo", "\nnull.foo", { file: "a.js" }).catch((thrown: unknown) => thrown);
    const isError = error instanceof CaissonError;
    return {
      value: await caisson.run("demo", "return context.data", {
        data: { a: "ü" },
        traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
      }),
      bytes: [...new Uint8Array(await bytes.arrayBuffer())],
      error: isError ? { code: error.code, line: error.at?.line, stack: error.taskError?.stack } : null,
    };
  });
  assert.partialDeepStrictEqual(seen, { value: { a: "ü" }, bytes: [0, 255], error: { code: "task_threw", line: 2 } });
});

it("a page of another origin uses every method of HTTP, and sees limits", async () => {
  const seen = await inPage(async (caisson, { Caisson, CaissonError }, url) => {
    const task = await caisson.tasks.put("demo", "page", { code: "return 7" });
    await caisson.tasks.put("demo", "page", { code: "return 8" }, { ifMatch: task.etag });
    const value = await caisson.run("demo", { task: "page" });
    await caisson.tasks.delete("demo", "page");
    const issued = await caisson.tokens.issue({ containers: ["demo"], limits: { token: { second: 1 } } });
    const limited = new Caisson({ url, token: issued.token });
    const patient = new Caisson({ url, token: issued.token, retry: { limited: true } });
    await limited.run("demo", "1");
    const error: unknown = await limited.run("demo", "2").catch((thrown: unknown) => thrown);
    const refused: unknown = await caisson.containers.update("demo", { labels: {} }).catch((thrown: unknown) => thrown);
    return {
      value,
      waitsMs: error instanceof CaissonError && error.status === 429 ? error.retryAfterMs : null,
      third: await patient.run("demo", "3"),
      refused: refused instanceof CaissonError && refused.code,
    };
  }, service.url);
  assert.ok(seen.waitsMs! > 0);
  assert.partialDeepStrictEqual(seen, { value: 8, third: 3, refused: "token_forbidden" });
});

it("a page of another origin streams a run, follows a container, and stops reading", async () => {
  const seen = await inPage(async (caisson) => {
    const types: string[] = [];
    for await (const event of caisson.stream("demo", "console.log('hi'); return 1")) types.push(event.type);
    const texts: string[] = [];
    const onOpen = (): void => void caisson.run("demo", "console.log('followed')");
    for await (const event of caisson.runs.follow("demo", { onOpen })) {
      if (event.type === "console") texts.push(event.text);
      if (event.type === "record") break;
    }
    return { types, texts };
  });
  assert.deepEqual(seen, { types: ["console", "result", "record"], texts: ["followed"] });
});

it("a page gets one class of error if the service is away, and if it aborts", async () => {
  const codes = await inPage(async (caisson, { Caisson, CaissonError }) => {
    const away = new Caisson({ url: "http://127.0.0.1:1" });
    const codeOf = (thrown: unknown): unknown => thrown instanceof CaissonError && thrown.code;
    return [
      await away.run("a", "1").catch(codeOf),
      await caisson.run("demo", "1", { signal: AbortSignal.abort() }).catch(codeOf),
    ];
  });
  assert.deepEqual(codes, ["unreachable", "aborted"]);
});

it("a worker of a page runs code", async () => {
  const page = await openPage("/");
  const program = `import { Caisson } from "${new URL("/caisson-client.js", page.url()).href}";
    const caisson = new Caisson(${JSON.stringify({ url: service.url, token })});
    postMessage(await caisson.run("demo", "return 6 * 7"));`;
  const value = await page.evaluate(`new Promise((resolve, reject) => {
    const url = URL.createObjectURL(new Blob([${JSON.stringify(program)}], { type: "text/javascript" }));
    const worker = new Worker(url, { type: "module" });
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(message));
  })`);
  assert.equal(value, 42);
  await page.close();
});
