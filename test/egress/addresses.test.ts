import assert from "node:assert/strict";
import { describe, it } from "node:test";

import * as fc from "fast-check";

import { isPublicAddress } from "../../src/egress/addresses.ts";

const PUBLIC = [
  "1.1.1.1",
  "8.8.8.8",
  "93.184.216.34",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "128.0.0.0",
  "168.63.129.15",
  "168.63.129.17",
  "169.253.255.255",
  "169.255.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "191.255.255.255",
  "192.0.1.0",
  "192.0.3.0",
  "192.31.195.255",
  "192.31.197.0",
  "192.52.192.255",
  "192.52.194.0",
  "192.88.98.255",
  "192.88.100.0",
  "192.167.255.255",
  "192.169.0.0",
  "192.175.47.255",
  "192.175.49.0",
  "198.17.255.255",
  "198.20.0.0",
  "198.51.99.255",
  "198.51.101.0",
  "203.0.112.255",
  "203.0.114.0",
  "223.255.255.255",
  "2001:200::1",
  "2001:4860:4860::8888",
  "2001:4860:4860:0000:0000:0000:0000:8888",
  "2001:db7:ffff::1",
  "2001:db9::1",
  "2003::1",
  "2400:cb00:2048:1::c629:d7a2",
  "2606:4700:4700::1111",
  "2606:4700:4700::1.1.1.1",
  "2620:4f:7fff:ffff::1",
  "2620:4f:8001::1",
  "2A00:1450:4001:80E::200E",
  "3ffd:ffff::1",
  "3fff:1000::1",
];

const NOT_PUBLIC: Readonly<Record<string, readonly string[]>> = {
  "unspecified and this network": ["0.0.0.0", "0.0.0.1", "0.255.255.255", "::", "0:0:0:0:0:0:0:0", "::0.0.0.0"],
  loopback: ["127.0.0.0", "127.0.0.1", "127.1.2.3", "127.255.255.255", "::1", "0000::0001", "0:0:0:0:0:0:0:1"],
  private: [
    ...["10.0.0.0", "10.1.2.3", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255"],
    ...["fc00::", "fc00::1", "fdff:ffff::1", "FD12:3456::1"],
  ],
  "link-local": ["169.254.0.0", "169.254.255.255", "fe80::1", "fe80::1%eth0", "FE80::a9fe:a9fe", "febf::1"],
  "site-local": ["fec0::1", "feff::1"],
  "carrier-grade NAT": ["100.64.0.0", "100.64.0.1", "100.127.255.255"],
  "metadata of clouds": [
    ...["169.254.169.254", "169.254.170.2", "169.254.0.23", "100.100.100.200", "168.63.129.16", "192.0.0.192"],
    ...["fd00:ec2::254", "fd20:ce::254", "fe80::a9fe:a9fe%2"],
  ],
  multicast: ["224.0.0.0", "224.0.0.1", "239.255.255.250", "239.255.255.255", "ff00::", "ff02::1", "ff0e::1"],
  "reserved and broadcast": ["240.0.0.0", "250.1.2.3", "255.255.255.254", "255.255.255.255"],
  "protocol assignments": ["192.0.0.0", "192.0.0.9", "192.0.0.255", "2001::", "2001:1::1", "2001:1ff:ffff::1"],
  "documentation and benchmarking": [
    ...["192.0.2.0", "192.0.2.255", "198.51.100.7", "203.0.113.9", "198.18.0.0", "198.19.255.255"],
    ...[
      "2001:db8::",
      "2001:db8:ffff::1",
      "2001:DB8::1",
      "3fff::1",
      "3fff:fff:ffff::1",
      "2001:2::1",
      "2001:2:0:ffff::1",
    ],
  ],
  "anycast that the nearest network answers": [
    ...["192.31.196.1", "192.52.193.1", "192.88.99.1", "192.175.48.1"],
    ...["2620:4f:8000::1", "2001:3::1", "2001:4:112::1"],
  ],
  "ORCHID and drone identifiers": ["2001:10::1", "2001:1f::1", "2001:20::1", "2001:2f::1", "2001:30::1"],
  "IPv4-mapped": [
    ...["::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:a9fe:a9fe"],
    ...["0:0:0:0:0:ffff:127.0.0.1", "::FFFF:8.8.8.8", "::ffff:0:127.0.0.1"],
  ],
  "IPv4-compatible": ["::127.0.0.1", "::7f00:1", "::10.0.0.1", "::169.254.169.254", "::8.8.8.8"],
  NAT64: [
    ...["64:ff9b::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::8.8.8.8", "64:ff9b::ffff:ffff"],
    ...["64:ff9b:1::1", "64:ff9b:1:ffff::10.0.0.1", "64:ff9b:1::a9fe:a9fe"],
  ],
  "6to4": ["2002::", "2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::1", "2002:808:808::1", "2002:ffff::1"],
  Teredo: ["2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:0:7f00:1::1", "2001:0000:ffff::1"],
  "given back or never assigned": ["3ffe::1", "4000::1", "5f00::1", "100::1", "100:0:0:1::1", "1fff::1", "8000::1"],
  "with a zone": ["2606:4700:4700::1111%eth0", "2606:4700:4700::1111%1"],
  "spellings that only some parsers read as addresses": [
    ...["2130706433", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1", "010.0.0.1", "127.0.0.01", "1.1.1", "134744072"],
    ...["[::1]", "[2606:4700::1]", "127.0.0.1.", "8.8.8.8.", "8.8.8.8:80", " 8.8.8.8", "8.8.8.8 ", "8.8.8.8/32"],
    ...["１２７.0.0.1", "127.0.0.%31", "::ffff:0x7f.1", "1::2::3", "12345::", "", "localhost", "example.com", "::g"],
  ],
};

describe("isPublicAddress", () => {
  it("accepts public unicast addresses, also next to special ranges", () => {
    for (const address of PUBLIC) assert.equal(isPublicAddress(address), true, address);
  });

  for (const [kind, addresses] of Object.entries(NOT_PUBLIC)) {
    it(`refuses ${kind}`, () => {
      for (const address of addresses) assert.equal(isPublicAddress(address), false, address);
    });
  }

  it("refuses every IPv6 wrapping of every IPv4 address", () => {
    fc.assert(
      fc.property(fc.ipV4(), (inner) => {
        for (const prefix of ["::ffff:", "::", "64:ff9b::", "64:ff9b:1::", "2002::", "2001::", "fe80::5efe:"]) {
          assert.equal(isPublicAddress(prefix + inner), false, prefix + inner);
        }
      }),
    );
  });

  it("refuses all IPv6 addresses outside 2000::/3", () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const first = Number.parseInt(/^[\da-f]+/i.exec(address)?.[0] ?? "0", 16);
        fc.pre(first < 0x2000 || first > 0x3fff);
        assert.equal(isPublicAddress(address), false);
      }),
    );
  });
});
