import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { forwardedForHops, forwardedHops } from "../../src/http/forwarded.ts";

function forwarded(header: string): (string | null)[] {
  return [...forwardedHops(header)].map(({ address }) => address);
}

function forwardedFor(header: string): (string | null)[] {
  return [...forwardedForHops(header)].map(({ address }) => address);
}

describe("Forwarded", () => {
  it("is parsed as in the examples of RFC 7239", () => {
    assert.deepEqual(forwarded('for="_gazonk"'), [null]);
    assert.deepEqual(forwarded('For="[2001:db8:cafe::17]:4711"'), ["2001:db8:cafe::17"]);
    assert.deepEqual(forwarded("for=192.0.2.60;proto=http;by=203.0.113.43"), ["192.0.2.60"]);
    assert.deepEqual(forwarded("for=192.0.2.43, for=198.51.100.17"), ["198.51.100.17", "192.0.2.43"]);
    assert.deepEqual(forwarded('for=192.0.2.43, for="[2001:db8:cafe::17]"'), ["2001:db8:cafe::17", "192.0.2.43"]);
    assert.deepEqual(forwarded("for=192.0.2.43,for=_SEVKISEK, for=unknown"), [null, null, "192.0.2.43"]);
  });

  it("may contain ports, obfuscated ports, quotes, escapes, empty parts and common extra spaces", () => {
    for (const element of [
      'for="192.0.2.1:47011"',
      'for="192.0.2.1:_port"',
      'for="192.0.2.1"',
      'for="1\\92.0.2.1"',
      "FOR=192.0.2.1",
      "proto=https ; for=192.0.2.1 ;by=_me",
      ";;for=192.0.2.1;",
      'by="a,b;for=9.9.9.9";for=192.0.2.1',
      'ext="\\"";for=192.0.2.1',
    ]) {
      assert.deepEqual(forwarded(` , ${element} ,,`), ["192.0.2.1"], element);
      assert.deepEqual(forwarded(`for=9.9.9.9,${element}`), ["192.0.2.1", "9.9.9.9"], element);
    }
  });

  it("yields no address for a malformed element", () => {
    for (const element of [
      "192.0.2.1",
      "for",
      "for=",
      'for=""',
      "=192.0.2.1",
      "for = 192.0.2.1",
      "for=192.0.2.1:80",
      "for=[::1]",
      'for="::1"',
      'for="[192.0.2.1]"',
      'for="[::1"',
      'for="[::1]x"',
      'for="[fe80::1%eth0]"',
      'for="192.0.2.1:"',
      'for="192.0.2.1:123456"',
      'for="192.0.2.1',
      'for=192.0.2.1"',
      'for="192.0.2.1"x',
      "for=192.0.2.1;for=192.0.2.1",
      "for=192.0.2.1;FOR=192.0.2.2",
      "for=192.0.2.1;proto",
      "for=192.0.2.1 by=x",
      "proto=https",
      "for=localhost",
    ]) {
      assert.deepEqual(forwarded(element), [null], element);
    }
  });

  it("is parsed from its end, and earlier text does not change the result", () => {
    for (const before of ['for="', 'for="\\', '"', '\\"', 'for="a", "', "\\", ";", "\t", 'for="x\\\\"'])
      assert.equal([...forwarded(`${before}, for="[2001:db8::1]:80";proto=https`)][0], "2001:db8::1", before);
  });

  it("yields the scheme and the host that the sender used", () => {
    const [hop] = [...forwardedHops('for=192.0.2.1;proto=https;host="a.test:8443"')];
    assert.deepEqual(hop, { address: "192.0.2.1", scheme: "https", host: "a.test:8443" });
  });
});

describe("X-Forwarded-For", () => {
  it("is a list of addresses, with or without ports", () => {
    assert.deepEqual(forwardedFor("192.0.2.1, 198.51.100.17:4711,2001:db8::1 ,[2001:db8::2], [2001:db8::3]:80"), [
      "2001:db8::3",
      "2001:db8::2",
      "2001:db8::1",
      "198.51.100.17",
      "192.0.2.1",
    ]);
    assert.deepEqual(forwardedFor("::ffff:192.0.2.1,, ,"), ["192.0.2.1"]);
  });

  it("yields no address for any other text", () => {
    for (const text of [
      "unknown",
      "_hidden",
      "localhost",
      '"192.0.2.1"',
      "for=192.0.2.1",
      "192.0.2.1;x",
      "192.0.2",
      "-",
    ]) {
      assert.deepEqual(forwardedFor(text), [null], text);
    }
    assert.deepEqual(forwardedFor(""), []);
  });
});

it("headers of the maximum length are parsed completely, whatever text they repeat", () => {
  const length = 16_384;
  const texts = ['"', '\\"', '"\\', ",", ";", " ", "a=", 'a="', "for=1.1.1.1,", "for=1.1.1.1;", "\\", '\t;"'];
  for (const text of texts) {
    const header = text.repeat(length / text.length);
    for (const hops of [[...forwardedHops(header)], [...forwardedForHops(header)]]) {
      assert.ok(hops.length <= length / 2, text);
      for (const { address } of hops) assert.ok(address === null || address === "1.1.1.1", text);
    }
  }
});
