import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { it, type TestContext } from "node:test";

import { Proxies } from "../../src/http/proxies.ts";
import { sendRaw } from "../contract/http.ts";
import { listening } from "./listening.ts";

type Reader<T> = (proxies: Proxies, request: IncomingMessage) => T;

/** Calls `read` with a request that arrives over a real connection from 127.0.0.1. */
async function readRequest<T>(
  t: TestContext,
  trusted: readonly string[],
  headers: readonly string[],
  read: Reader<T>,
): Promise<T> {
  const proxies = new Proxies(trusted, () => {});
  const { promise, resolve } = Promise.withResolvers<T>();
  const port = await listening(t, {
    request: (request, response) => {
      resolve(read(proxies, request));
      response.end();
    },
  });
  await sendRaw(port, [["GET / HTTP/1.1", ...headers, "Connection: close", "", ""].join("\r\n")]);
  return promise;
}

function originOf(t: TestContext, trusted: string | null, headers: readonly string[]): Promise<string> {
  return readRequest(t, trusted === null ? [] : [trusted], headers, (proxies, request) => proxies.originOf(request));
}

function clientOf(t: TestContext, trusted: readonly string[], ...headers: readonly string[]): Promise<string> {
  return readRequest(t, trusted, headers, (proxies, request) => proxies.clientOf(request));
}

const HERE = ["127.0.0.1/32"];
const CHAIN = ["127.0.0.0/8", "10.0.0.0/8", "2001:db8:aaaa::/48"];

it("the client is the peer of the connection if the peer is not a trusted proxy", async (t) => {
  for (const trusted of [[], ["10.0.0.0/8"], ["::1/128"], ["127.0.0.2/32"]]) {
    const headers = ["X-Forwarded-For: 192.0.2.1", "Forwarded: for=192.0.2.1"];
    assert.equal(await clientOf(t, trusted, ...headers), "127.0.0.1", trusted.join());
  }
});

it("the client is the last address that a trusted proxy reports", async (t) => {
  assert.equal(await clientOf(t, HERE, "X-Forwarded-For: 192.0.2.1"), "192.0.2.1");
  assert.equal(await clientOf(t, HERE, "X-Forwarded-For: 9.9.9.9, 192.0.2.1"), "192.0.2.1");
  assert.equal(await clientOf(t, HERE, "X-Forwarded-For: 9.9.9.9", "X-Forwarded-For: 192.0.2.1"), "192.0.2.1");
  assert.equal(await clientOf(t, HERE, "Forwarded: for=9.9.9.9", "Forwarded: For=192.0.2.1"), "192.0.2.1");
  assert.equal(await clientOf(t, HERE, "X-Forwarded-For: ::ffff:192.0.2.1"), "192.0.2.1");
  assert.equal(await clientOf(t, HERE, 'Forwarded: for="[2001:DB8::0:1]:443"'), "2001:db8::1");
});

it("a chain of trusted proxies is followed back to the first address that is not trusted", async (t) => {
  assert.equal(
    await clientOf(t, CHAIN, "X-Forwarded-For: 9.9.9.9, 192.0.2.1, 10.1.1.1, 2001:db8:aaaa::7"),
    "192.0.2.1",
  );
  assert.equal(await clientOf(t, CHAIN, "X-Forwarded-For: 10.0.0.1, 192.0.2.1"), "192.0.2.1");
  assert.equal(await clientOf(t, CHAIN, "X-Forwarded-For: ::ffff:10.0.0.1, 10.0.0.2"), "10.0.0.1");
});

it("a proxy that does not report the sender is the client itself", async (t) => {
  assert.equal(await clientOf(t, HERE), "127.0.0.1");
  for (const header of ["X-Forwarded-For: ", "X-Forwarded-For: 192.0.2.1, unknown", "X-Forwarded-For: 192.0.2.1, x"]) {
    assert.equal(await clientOf(t, HERE, header), "127.0.0.1", header);
  }
  for (const header of ["for=_hidden", "for=unknown", "proto=https", "for=1.2.3.4:80", "nonsense", "for=1.1.1.1, ;"]) {
    assert.equal(await clientOf(t, HERE, `Forwarded: ${header}`), "127.0.0.1", header);
  }
  assert.equal(await clientOf(t, CHAIN, "X-Forwarded-For: 192.0.2.1, x, 10.0.0.9"), "10.0.0.9");
});

it("two forwarding headers count only if they agree, because a client may have written one of them", async (t) => {
  const forwardedFor = "X-Forwarded-For: 192.0.2.1";
  assert.equal(await clientOf(t, HERE, forwardedFor, "Forwarded: for=192.0.2.1"), "192.0.2.1");
  for (const other of ["for=9.9.9.9", "for=unknown", "nonsense", "for=192.0.2.1, for=9.9.9.9"]) {
    assert.equal(await clientOf(t, HERE, forwardedFor, `Forwarded: ${other}`), "127.0.0.1", other);
  }
});

it("an ignored header is reported once, with the address that is not trusted", async (t) => {
  for (const [trusted, pattern] of [
    [
      [],
      /^the header X-Forwarded-For of a request is ignored: if this .* behind a proxy, name the proxy with --trust-proxy$/,
    ],
    [["10.0.0.0/8"], /X-Forwarded-For .* 127\.0\.0\.1 is not one of the proxies that --trust-proxy names$/],
    [["127.0.0.0/8"], null],
  ] as const) {
    const messages: string[] = [];
    const proxies = new Proxies(trusted, (message) => messages.push(message));
    const port = await listening(t, {
      request: (request, response) => {
        proxies.reportIgnoredHeader(request);
        response.end();
      },
    });
    const send = (header: string): Promise<string> =>
      sendRaw(port, [`GET / HTTP/1.1\r\nHost: a\r\n${header}Connection: close\r\n\r\n`]);
    await send("X-Real-IP: 9.9.9.9\r\n");
    assert.deepEqual(messages, []);
    for (let time = 0; time < 3; time++) await send("X-Forwarded-For: 9.9.9.9\r\n");
    await send("Forwarded: for=9.9.9.9\r\n");
    assert.equal(messages.length, pattern === null ? 0 : 1);
    if (pattern) assert.match(messages[0]!, pattern);
  }
});

const FORWARDED = ["Host: inside.test:8080", "X-Forwarded-Proto: https", "X-Forwarded-Host: outside.test"];

it("the origin is the one that the request addresses if no proxy is trusted", async (t) => {
  assert.equal(await originOf(t, null, FORWARDED), "http://inside.test:8080");
});

it("the origin comes from the client's hop in Forwarded if no X-Forwarded header reports it", async (t) => {
  const header = 'Forwarded: for=9.9.9.9;host=evil.test, for=192.0.2.1;proto=https;host="outside.test:8443"';
  assert.equal(await originOf(t, HERE[0]!, ["Host: inside.test", header]), "https://outside.test:8443");
  assert.equal(await originOf(t, null, ["Host: inside.test", header]), "http://inside.test");
});

it("the origin comes from the headers of a trusted proxy", async (t) => {
  for (const range of ["127.0.0.1/32", "127.0.0.0/8", "0.0.0.0/0"]) {
    assert.equal(await originOf(t, range, FORWARDED), "https://outside.test", range);
  }
});

it("the forwarding headers of an untrusted peer do not change the origin", async (t) => {
  for (const range of ["10.0.0.0/8", "127.0.0.2/32", "::1/128"]) {
    assert.equal(await originOf(t, range, FORWARDED), "http://inside.test:8080", range);
  }
});

it("the first of several forwarded values counts, and missing values come from the request", async (t) => {
  const several = ["Host: inside.test", "X-Forwarded-Proto: https, http", "X-Forwarded-Host: a.test , b.test"];
  assert.equal(await originOf(t, "127.0.0.0/8", several), "https://a.test");
  assert.equal(await originOf(t, "127.0.0.0/8", ["Host: inside.test"]), "http://inside.test");
});

it("a scheme that is neither http nor https becomes http", async (t) => {
  const headers = ["Host: a.test", "X-Forwarded-Proto: javascript"];
  assert.equal(await originOf(t, "127.0.0.0/8", headers), "http://a.test");
});

it("a host that would change the rest of a URL is replaced with localhost", async (t) => {
  for (const host of ["a.test/evil", "user@a.test", "a.test?x", "a test", "a.test:123456", "[::1", ""]) {
    assert.equal(await originOf(t, null, [`Host: ${host}`]), "http://localhost", host);
  }
  for (const host of ["a-b_c.test", "127.0.0.1:7070", "[2001:db8::1]:443"]) {
    assert.equal(await originOf(t, null, [`Host: ${host}`]), `http://${host}`);
  }
});
