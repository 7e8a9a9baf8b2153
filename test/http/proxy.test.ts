import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";

import { originReader } from "../../src/http/proxy.ts";
import { sendRaw } from "../contract/http.ts";
import { listening } from "./listening.ts";

async function originOf(t: TestContext, trusted: string | null, headers: readonly string[]): Promise<string> {
  const read = originReader(trusted);
  const { promise, resolve } = Promise.withResolvers<string>();
  const port = await listening(t, {
    request: (request, response) => {
      resolve(read(request));
      response.end();
    },
  });
  await sendRaw(port, [["GET / HTTP/1.1", ...headers, "Connection: close", "", ""].join("\r\n")]);
  return promise;
}

const FORWARDED = ["Host: inside.test:8080", "X-Forwarded-Proto: https", "X-Forwarded-Host: outside.test"];

it("the origin is what the client addressed, where no proxy is trusted", async (t) => {
  assert.equal(await originOf(t, null, FORWARDED), "http://inside.test:8080");
});

it("what a trusted proxy forwards is believed", async (t) => {
  for (const range of ["127.0.0.1/32", "127.0.0.0/8", "0.0.0.0/0"]) {
    assert.equal(await originOf(t, range, FORWARDED), "https://outside.test", range);
  }
});

it("what anybody else forwards is a caller's own words", async (t) => {
  for (const range of ["10.0.0.0/8", "127.0.0.2/32", "::1/128"]) {
    assert.equal(await originOf(t, range, FORWARDED), "http://inside.test:8080", range);
  }
});

it("the first of several forwarded values counts, and what is not forwarded is taken from the request", async (t) => {
  const several = ["Host: inside.test", "X-Forwarded-Proto: https, http", "X-Forwarded-Host: a.test , b.test"];
  assert.equal(await originOf(t, "127.0.0.0/8", several), "https://a.test");
  assert.equal(await originOf(t, "127.0.0.0/8", ["Host: inside.test"]), "http://inside.test");
});

it("a scheme that is neither http nor https is read as http", async (t) => {
  const headers = ["Host: a.test", "X-Forwarded-Proto: javascript"];
  assert.equal(await originOf(t, "127.0.0.0/8", headers), "http://a.test");
});

it("a host that would change the rest of a URL is not repeated to a task", async (t) => {
  for (const host of ["a.test/evil", "user@a.test", "a.test?x", "a test", "a.test:123456", "[::1", ""]) {
    assert.equal(await originOf(t, null, [`Host: ${host}`]), "http://localhost", host);
  }
  for (const host of ["a-b_c.test", "127.0.0.1:7070", "[2001:db8::1]:443"]) {
    assert.equal(await originOf(t, null, [`Host: ${host}`]), `http://${host}`);
  }
});
