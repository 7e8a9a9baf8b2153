/**
 * A map that holds its own methods, so that it goes on working when a task replaces those of `Map.prototype`. To be made
 * before any submitted code runs.
 */
export function safeMap<Key, Value>(): Map<Key, Value> {
  const map = new Map<Key, Value>();
  for (const name of ["get", "set", "has", "delete", "forEach"] as const) {
    Object.defineProperty(map, name, { value: Map.prototype[name] });
  }
  return map;
}
