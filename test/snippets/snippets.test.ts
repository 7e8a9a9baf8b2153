import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Answer } from "../contract/http.ts";
import { assertProblem } from "../contract/problem.ts";
import { type Service, startService } from "../contract/service.ts";
import { readSnippets, type Snippet } from "./snippet.ts";

let service: Service;

before(async () => {
  service = await startService();
});
after(() => service.stop());

for (const [kind, snippets] of readSnippets()) {
  describe(kind, () => {
    for (const snippet of snippets) {
      it(snippet.title, async () => {
        expect(snippet, await send(kind, snippet));
      });
    }
  });
}

function send(container: string, { code, modules, fields }: Snippet): Promise<Answer> {
  const target = `/api/run/${container}${fields["query"] === undefined ? "" : `?${fields["query"]}`}`;
  const data = fields["data"];
  if (data === undefined && Object.keys(modules).length === 0) {
    const type = fields["type"];
    return service.request("POST", target, { body: code, ...(type && { headers: { "content-type": type } }) });
  }
  return service.request("POST", target, {
    json: { code, ...(data && { data: JSON.parse(data) as unknown }), modules },
  });
}

function expect({ status, body, isProblem, patterns }: Snippet, answer: Answer): void {
  if (!isProblem) {
    assert.equal(`${answer.status} ${answer.text}`, `${status} ${body}`);
    return;
  }
  const { detail, hint, error } = assertProblem(answer, status, body);
  const text = [detail, hint ?? "", error?.stack ?? ""].join("\n");
  for (const pattern of patterns) assert.match(text, pattern);
}
