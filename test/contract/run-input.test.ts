import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { CodeServer } from "./code-server.ts";
import type { Answer, RequestOptions } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { type SharedService, shareService } from "./service.ts";

const MIB = 2 ** 20;

let service: SharedService;
let code: CodeServer;

before(async () => {
  service = await shareService();
  code = service.serveCode((_, response) => response.end("(context) => context.query"));
});
after(async () => {
  await service.stop();
  await code.close();
});

describe("the source of the code", () => {
  it("is rejected if it is both a body and task_url", async () => {
    const query = { task_url: code.url };
    assertProblem(await service.run("means", "1", { query }), 400, "code_ambiguous");
    assertProblem(
      await service.request("PUT", "/api/run/means", { json: { code: "1" }, query }),
      400,
      "code_ambiguous",
    );
  });

  it("is required for every method", async () => {
    for (const method of ["POST", "PUT", "PATCH", "GET", "DELETE"]) {
      assertProblem(await service.request(method, "/api/run/means"), 400, "code_missing");
    }
  });

  for (const blank of ["", " ", "\n\t \r\n", "\uFEFF", "\uFEFF \n"]) {
    it(`is missing if the text is blank: ${JSON.stringify(blank)}`, async () => {
      assertProblem(await service.run("means", blank), 400, "code_missing");
      assertProblem(await service.request("POST", "/api/run/means", { json: { code: blank } }), 400, "code_missing");
    });
  }

  for (const method of ["GET", "DELETE"]) {
    it(`cannot be a body with ${method}, with and without task_url`, async () => {
      for (const query of [{}, { task_url: code.url }]) {
        const answer = await service.request(method, "/api/run/means", { body: "6 * 7", query });
        assert.equal(answer.status, 400);
        assert.ok(
          ["request_invalid", "code_ambiguous"].includes((answer.json() as { code: string }).code),
          answer.text,
        );
      }
    });
  }

  it("can be a body in chunks", async () => {
    const headers = { "transfer-encoding": "chunked" };
    assert.equal((await service.run("means", "6 * 7", { headers })).text, "42");
    const answer = await service.request("GET", "/api/run/means", { headers, body: "6 * 7" });
    assert.equal(answer.status, 400);
  });
});

describe("source text", () => {
  const types = ["text/plain", "text/plain; charset=utf-8", "application/javascript", "application/octet-stream"];
  for (const type of [...types, "application/x-www-form-urlencoded", "image/png"]) {
    it(`can have the type ${type}`, async () => {
      const answer = await service.run("text", "`é${6 * 7}`", { headers: { "content-type": type } });
      assert.equal(answer.text, '"é42"');
    });
  }

  it("can have no type", async () => {
    assert.equal((await service.run("text", "6 * 7")).text, "42");
  });

  it("loses its byte-order mark and a first line that begins with #!", async () => {
    assert.equal((await service.run("text", "\uFEFF6 * 7")).text, "42");
    assert.equal((await service.run("text", "#!/usr/bin/env node\n6 * 7")).text, "42");
    assert.equal((await service.run("text", "\uFEFF#!/usr/bin/env node\r\nreturn 6 * 7")).text, "42");
  });

  it("keeps its line numbers if its first line is removed", async () => {
    const answer = await service.run("text", "#!/usr/bin/env node\nthrow new Error('second line')");
    assert.match(assertProblem(answer, 500, "task_threw").error!.stack!, /:2:7\b/);
  });

  const broken = [
    [0xff],
    [0x22, 0xc3, 0x22],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
    [0x22, 0xc0, 0x80, 0x22],
    [0xff, 0xfe, 0x31, 0],
  ];
  for (const bytes of broken) {
    it(`is rejected if its bytes are not UTF-8: ${Buffer.from(bytes).toString("hex")}`, async () => {
      assertProblem(await service.run("text", Uint8Array.from(bytes)), 400, "request_invalid");
      const envelope = Buffer.concat([Buffer.from('{"code":"'), Buffer.from(bytes), Buffer.from('"}')]);
      const json = { headers: { "content-type": "application/json" } };
      assertProblem(await service.run("text", envelope, json), 400, "request_invalid");
    });
  }
});

describe("the envelope", () => {
  it("contains code", async () => {
    assert.equal((await send({ code: "6 * 7" })).text, "42");
    assert.equal((await text('{"code":"6 * 7"}', "Application/JSON; charset=UTF-8")).text, "42");
    assert.equal((await text('\n {"code": "6\\u0020* 7"} \n')).text, "42");
  });

  it("contains data of any kind, which the task finds in body", async () => {
    for (const data of [{ a: [1, "é"] }, [1], "text", 0, false, null]) {
      assert.deepEqual((await send({ code: "(context) => context.body", data })).json(), data);
    }
    assert.deepEqual((await send({ code: "(context) => context.data.a", data: { a: 1 } })).json(), 1);
  });

  it("contains modules, which the code imports", async () => {
    const modules = { "./lib.ts": "export const twice = (n: number): number => 2 * n;" };
    const importing = "import { twice } from './lib.ts'; export default () => twice(21)";
    assert.equal((await send({ code: importing, modules })).text, "42");
  });

  it("is recognised only for application/json", async () => {
    const answer = await text('{"code":"6 * 7"}', "application/vnd.other+json");
    assert.deepEqual(answer.json(), { code: "6 * 7" });
  });

  it("without code is code_missing", async () => {
    assertProblem(await text("{}"), 400, "code_missing");
    assertProblem(await text('{"data":1}'), 400, "code_missing");
  });

  const wrong = ["[]", "null", '"1"', "1", '{"code":1}', '{"code":null}', '{"code":["1"]}'];
  const wrongMembers = ['{"code":"1","modules":[]}', '{"code":"1","modules":{"./a.ts":1}}', '{"code":"1","Data":1}'];
  for (const body of [...wrong, ...wrongMembers]) {
    it(`is rejected if it is ${body}`, async () => {
      assertProblem(await text(body), 400, "request_invalid");
    });
  }

  it("is rejected with the name of an unknown member", async () => {
    assert.match(JSON.stringify(assertProblem(await send({ code: "1", cdoe: 1 }), 400, "request_invalid")), /cdoe/);
  });

  it("is rejected with the position at which its text is not JSON", async () => {
    for (const body of ["{", '{"code":"1"', "{'code':'1'}", '{"code":"1"}x', '{"code":"\n"}']) {
      assert.match(assertProblem(await text(body), 400, "request_invalid").detail, /line \d+|column \d+|position \d+/);
    }
  });

  it("may nest 64 levels and no more", async () => {
    assert.equal((await text(nested(64))).status, 200);
    assert.match(assertProblem(await text(nested(65)), 400, "request_invalid").detail, /\b64\b/);
    assert.match(assertProblem(await text(nested(400_000)), 400, "request_invalid").detail, /\b64\b/);
  });
});

describe("limits on input", () => {
  it("code may have 1 MiB and not a byte more", async () => {
    const exact = `1 //${"x".repeat(MIB - 4)}`;
    assert.equal((await service.run("size", exact)).text, "1");
    assert.match(
      assertProblem(await service.run("size", `${exact}x`), 400, "code_too_large").detail,
      /1 ?MiB|1[ ,]?048[ ,]?576/,
    );
    assert.equal((await service.request("POST", "/api/run/size", { json: { code: exact } })).text, "1");
    assertProblem(
      await service.request("POST", "/api/run/size", { json: { code: `${exact}x` } }),
      400,
      "code_too_large",
    );
  });

  it("code is limited in bytes, not in characters", async () => {
    assertProblem(await service.run("size", `'${"é".repeat(MIB / 2)}'`), 400, "code_too_large");
  });

  it("task_url may have 2 048 characters and not one more", async () => {
    const exact = `${code.url}/`.padEnd(2048, "a");
    assert.equal((await service.request("GET", "/api/run/size", { query: { task_url: exact } })).status, 200);
    const answer = await service.request("GET", "/api/run/size", { query: { task_url: `${exact}a` } });
    assert.match(assertProblem(answer, 400, "task_url_invalid").detail, /2[ ,]?048/);
  });

  it("headers may have 16 KiB", async () => {
    assert.equal((await service.run("size", "1", padded(14_000))).status, 200);
    assert.equal((await service.run("size", "1", padded(17_000))).status, 431);
  });
});

describe("the query", () => {
  for (const name of ["task_urls", "task_", "task_id", "%74ask_id", "task%5Fid"]) {
    it(`${name} is rejected, because it is reserved and unknown`, async () => {
      const answer = await service.request("POST", `/api/run/query?${name}=1`, { body: "1" });
      assertProblem(answer, 400, "request_invalid");
    });
  }

  it("names that are not reserved reach the task, and reserved names do not", async () => {
    const body = "(context) => [context.query, context.url, context.data]";
    const target = `/api/run/query?a=1&key=${service.admin}&b=x%20y&Task_c=2&keys=3`;
    const answer = await service.request("POST", target, { token: null, body });
    const [query, url, data] = answer.json() as [Record<string, string>, string, Record<string, string>];
    assert.deepEqual(query, { a: "1", b: "x y", Task_c: "2", keys: "3" });
    assert.deepEqual(data, query);
    assert.deepEqual([...new URL(url).searchParams.keys()], ["a", "b", "Task_c", "keys"]);
    assert.doesNotMatch(answer.text, /eyJ/);
    const fetched = await service.request("GET", "/api/run/query", { query: { a: "1", task_url: code.url } });
    assert.deepEqual(fetched.json(), { a: "1" });
  });

  it("an encoded reserved name is still reserved", async () => {
    const target = `/api/run/query?k%65y=${service.admin}`;
    const answer = await service.request("POST", target, {
      token: null,
      body: "(context) => [context.url, context.query]",
    });
    assert.equal(answer.status, 200, answer.text);
    assert.doesNotMatch(answer.text, /eyJ|k%65y/);
  });
});

describe("the context of a run", () => {
  it("has the run, the container, the method and the headers that are for the task", async () => {
    const members = "({ runId: c.runId, container: c.container, method: c.method, headers: c.headers })";
    const answer = await service.request("PUT", "/api/run/context", {
      body: `(c) => (${members})`,
      headers: {
        "x-mine": "yes",
        cookie: "a=b",
        "proxy-authorization": "Basic x",
        forwarded: "for=1.2.3.4",
        "x-forwarded-for": "1.2.3.4",
        referer: `http://x/?key=${service.admin}`,
      },
    });
    const seen = answer.json() as { runId: string; container: string; method: string; headers: Record<string, string> };
    assert.equal(seen.runId, answer.headers["caisson-run"]);
    assert.equal(seen.container, "context");
    assert.equal(seen.method, "PUT");
    assert.equal(seen.headers["x-mine"], "yes");
    const passedOn = Object.keys(seen.headers).filter((name) =>
      /^(authorization|cookie|proxy-|forwarded|x-forwarded|referer)/.test(name),
    );
    assert.deepEqual(passedOn, []);
  });

  it("keeps a referer without a key", async () => {
    const options = { headers: { referer: "http://x/?a=1" } };
    assert.equal((await service.run("context", "(c) => c.headers.referer", options)).text, '"http://x/?a=1"');
  });
});

function send(envelope: unknown): Promise<Answer> {
  return service.request("POST", "/api/run/envelope", { json: envelope });
}

function text(body: string, type = "application/json"): Promise<Answer> {
  return service.run("envelope", body, { headers: { "content-type": type } });
}

/** Returns an envelope with this number of levels. */
function nested(levels: number): string {
  return `{"code":"1","data":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
}

function padded(bytes: number): RequestOptions {
  return { headers: { "x-padding": "p".repeat(bytes) } };
}
