import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";

import type { RequestOptions } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { type Service, shareService } from "./service.ts";

let service: Service;
before(async () => {
  service = await shareService();
});
after(() => service.stop());

const JSON_TYPE = { "Content-Type": "application/json" };
const TARGETS: readonly [method: string, target: string][] = [
  ["POST", "/api/tokens"],
  ["PUT", "/api/tasks/json/mistake"],
  ["PUT", "/api/containers/json"],
  ["POST", "/api/run/json"],
];

describe("a body that JavaScript reads and JSON does not permit", () => {
  const rows: readonly [body: string, hint: RegExp][] = [
    ['{"code": "1",}', /^JSON has no comma before a \}\./],
    ['{"code": "1", "labels": ["a",]}', /^JSON has no comma before a \]\./],
    ["{'code': '1'}", /^JSON has names and texts in double quotes only/],
    ["{\"code\": '1'}", /^JSON has names and texts in double quotes only/],
    ['{"code": "1" // the code\n}', /^JSON has no comments\./],
    ['{\n  /* the code */\n  "code": "1"\n}', /^JSON has no comments\./],
    ['{"code": "return "hi""}', /^A double quote inside of a text is written \\"\./],
    ['{"code": "console.log("hi");"}', /^A double quote inside of a text is written \\"\./],
    ['{"code": "return "" + 1"}', /^A double quote inside of a text is written \\"\./],
    ['{"code": "const a = " b;"}', /^A double quote inside of a text is written \\"\./],
    ['{"code": "return \\`x\\`"}', /^JSON has no escape \\`: remove the backslash\./],
    ['{"code": "return \\$x"}', /^JSON has no escape \\\$: remove the backslash\./],
    ['{"code": "return /\\d/"}', /^JSON has no such escape: a backslash of the code is written \\\\\./],
    ['{"code": undefined}', /^JSON has no undefined: leave the member out, or write null\./],
  ];
  for (const [method, target] of TARGETS) {
    for (const [body, hint] of rows) {
      it(`has a hint at ${target}: ${JSON.stringify(body)}`, async () => {
        const answer = await service.request(method, target, { body, headers: JSON_TYPE });
        assert.match(assertProblem(answer, 400, "request_invalid").hint ?? "(none)", hint);
      });
    }
  }

  it("has no such hint for another fault", async () => {
    for (const body of ['{"code": 1 2}', '{"code": "1" "data": 2}', '{"code": "1": 2}']) {
      const answer = await service.request("POST", "/api/tokens", { body, headers: JSON_TYPE });
      assert.match(assertProblem(answer, 400, "request_invalid").hint ?? "(none)", /^Send JSON, such as/, body);
    }
  });

  it("has the way without JSON, if it is code with a quote", async () => {
    const options = { body: '{"code": "return "hi""}', headers: JSON_TYPE };
    const answer = await service.request("POST", "/api/run/json", options);
    assert.match(
      assertProblem(answer, 400, "request_invalid").hint!,
      /send the code as it is, .* --data-binary @task\.js/,
    );
  });
});

describe("a body that is compressed", () => {
  const body = gzipSync('{"containers": ["json"], "code": "return 1"}');
  for (const [method, target] of TARGETS) {
    it(`is 415 at ${target} if the request declares it`, async () => {
      const options: RequestOptions = { body, headers: { ...JSON_TYPE, "Content-Encoding": "gzip" } };
      const problem = assertProblem(await service.request(method, target, options), 415, "request_invalid");
      assert.match(problem.detail, /the content encoding "gzip", and the service decodes none/);
      assert.equal(problem.hint, "Send the body without Content-Encoding.");
    });

    it(`is named at ${target} if the request does not declare it`, async () => {
      const answer = await service.request(method, target, { body, headers: JSON_TYPE });
      const { hint } = assertProblem(answer, 400, "request_invalid");
      assert.equal(hint, "The body is compressed with gzip, and the service decodes none: send the JSON as it is.");
    });
  }
});
