import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { capacityOf, type Machine } from "../../src/service/capacity.ts";

const GIB = 2 ** 30;
const DEFAULTS = { maxContainers: null, tokenContainers: null, pool: 4 };
const MACHINE: Machine = { processors: 2, freeBytes: 24 * GIB, descriptors: 65_536 };

describe("the capacity of a service", () => {
  it("grows with the free memory, and is never less than eight containers", () => {
    assert.deepEqual([containers(24 * GIB), containers(GIB), containers(0)], [576, 24, 8]);
  });

  it("gives one token family at most half of the containers, and at most sixteen by default", () => {
    assert.deepEqual([ofFamily(1_000), ofFamily(9), ofFamily(1), ofFamily(9, 9)], [16, 5, 1, 9]);
  });

  it("lets the pool grow to eight times its size while memory is free, and never below its size", () => {
    assert.deepEqual([spares(4, 24 * GIB), spares(4, 2 * GIB), spares(4, 0.1 * GIB)], [32, 8, 4]);
    assert.deepEqual([spares(0, 24 * GIB), spares(1, 24 * GIB)], [0, 8]);
  });

  it("gives builds of packages a quarter of the free memory, and always has place for one build and one transform", () => {
    const builders = (freeBytes: number): number[] => {
      const { builds, transforms } = capacityOf(DEFAULTS, { ...MACHINE, freeBytes });
      return [builds, transforms];
    };
    assert.deepEqual([24 * GIB, 12 * GIB, 8 * GIB, GIB, 0].map(builders), [
      [2, 4],
      [2, 1],
      [1, 1],
      [1, 1],
      [1, 1],
    ]);
    const { builds, transforms, guests, spares } = capacityOf({ ...DEFAULTS, maxContainers: 10 }, MACHINE);
    // Each of them is two guests, and one more guest makes code caches.
    assert.equal(guests, 2 * (10 + spares + 2 * (builds + transforms) + 1) + 16);
  });

  it("starts one guest more at once than there are processors", () => {
    assert.deepEqual(
      [capacityOf(DEFAULTS, MACHINE).starts, capacityOf(DEFAULTS, { ...MACHINE, processors: 16 }).starts],
      [3, 17],
    );
  });

  it("leaves descriptors for guests in addition to the connections of clients and of tasks, or takes half of them", () => {
    const { connections, egressConnections, ...guests } = capacityOf(DEFAULTS, MACHINE);
    assert.equal(egressConnections, 4_096);
    assert.ok(connections + egressConnections + (guests.containers + guests.spares) * 3 <= MACHINE.descriptors!);
    const few = capacityOf(DEFAULTS, { ...MACHINE, descriptors: 1_024 });
    assert.deepEqual([few.connections, few.egressConnections], [512, 256]);
    assert.equal(capacityOf(DEFAULTS, { ...MACHINE, descriptors: null }).connections, 16_384);
  });

  it("gives one client network at most a quarter of the connections, and at least 64", () => {
    const ofNetwork = (descriptors: number | null): number =>
      capacityOf(DEFAULTS, { ...MACHINE, descriptors }).connectionsOfNetwork;
    assert.equal(ofNetwork(65_536), Math.floor(capacityOf(DEFAULTS, MACHINE).connections / 4));
    assert.deepEqual([ofNetwork(1_024), ofNetwork(256), ofNetwork(null)], [128, 64, 4_096]);
  });
});

const containers = (freeBytes: number): number => capacityOf(DEFAULTS, { ...MACHINE, freeBytes }).containers;
const ofFamily = (maxContainers: number, tokenContainers: number | null = null): number =>
  capacityOf({ ...DEFAULTS, maxContainers, tokenContainers }, MACHINE).containersOfFamily;
const spares = (pool: number, freeBytes: number): number =>
  capacityOf({ ...DEFAULTS, pool }, { ...MACHINE, freeBytes }).spares;
