import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";

import { Problem } from "../../src/errors.ts";
import { type Credential, readCredential } from "../../src/http/credential.ts";
import { parseTarget } from "../../src/http/target.ts";
import { sendRaw } from "../contract/http.ts";
import { listening } from "./listening.ts";

/** Sends a raw request to a real server. Returns the credential of the request, or the problem that was thrown. */
async function read(
  t: TestContext,
  options: { target?: string; headers?: readonly string[]; acceptKey?: boolean },
): Promise<Credential | Problem> {
  const { promise, resolve } = Promise.withResolvers<Credential | Problem>();
  const port = await listening(t, {
    request: (request, response) => {
      try {
        resolve(readCredential(request, parseTarget(request.url!).query, options.acceptKey ?? true));
      } catch (error) {
        resolve(error as Problem);
      }
      response.end();
    },
  });
  const lines = [`GET ${options.target ?? "/"} HTTP/1.1`, ...(options.headers ?? []), "Connection: close", "", ""];
  await sendRaw(port, [lines.join("\r\n")]);
  return promise;
}

it("a bearer token is read whatever the case of its header and scheme, and with any number of spaces", async (t) => {
  for (const header of ["Authorization: Bearer abc.def", "AUTHORIZATION:bEARER   abc.def  "]) {
    assert.deepEqual(await read(t, { headers: [header] }), { token: "abc.def" });
  }
});

it("a token in the query is percent-decoded once", async (t) => {
  assert.deepEqual(await read(t, { target: "/?a=1&%6Bey=a%2Eb" }), { token: "a.b" });
});

it("another scheme, or a bearer token that contains a space, is not a credential", async (t) => {
  for (const value of ["Basic YTpi", "Bearer", "Bearer a b", "Bearera", "Token abc"]) {
    const found = await read(t, { headers: [`Authorization: ${value}`] });
    assert.equal((found as Problem).code, "token_missing", value);
    const withKey = await read(t, { headers: [`Authorization: ${value}`], target: "/?key=k" });
    assert.deepEqual(withKey, { token: "k" }, value);
  }
});

it("an empty key is a missing token", async (t) => {
  for (const target of ["/?key=", "/?key"]) {
    assert.equal(((await read(t, { target })) as Problem).code, "token_missing");
  }
});

it("two credentials are ambiguous, even if they are equal, and the answer repeats neither", async (t) => {
  const bearer = "Authorization: Bearer tok-en";
  const twice = [
    { headers: [bearer], target: "/?key=tok-en" },
    { headers: [bearer], target: "/?key=" },
    { target: "/?key=tok-en&k%65y=tok-en" },
    { headers: [bearer, bearer] },
    { headers: [bearer, "X-Other: 1", "authorization: Basic dG9rLWVu"] },
  ];
  for (const options of twice) {
    const found = await read(t, options);
    assert.ok(found instanceof Problem, JSON.stringify(options));
    assert.equal(found.code, "credentials_ambiguous");
    assert.ok(!`${found.message} ${found.options.hint}`.includes("tok-en"));
  }
});

it("a header whose value is the word authorization is not a second credential", async (t) => {
  const headers = ["X-Note: authorization", "Authorization: Bearer abc", "X-Authorization: Bearer def"];
  assert.deepEqual(await read(t, { headers }), { token: "abc" });
});

it("key is neither read nor recommended if the operator has disabled it", async (t) => {
  const found = (await read(t, { target: "/?key=abc", acceptKey: false })) as Problem;
  assert.equal(found.code, "token_missing");
  assert.doesNotMatch(found.options.hint!, /key/);
  const headers = ["Authorization: Bearer abc"];
  assert.deepEqual(await read(t, { headers, target: "/?key=def", acceptKey: false }), { token: "abc" });
});
