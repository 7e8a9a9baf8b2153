import type { Charge, KeyReading, LimitStore } from "../../src/limits/store.ts";

/** Reads what is left of one key. */
export async function readOne(store: Pick<LimitStore, "read">, charge: Charge): Promise<KeyReading> {
  const [reading] = await store.read([charge]);
  return reading!;
}
