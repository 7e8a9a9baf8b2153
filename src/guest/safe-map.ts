/**
 * Makes a Map with its own copies of the methods, so that it still works after a task replaces methods of `Map.prototype`.
 * Call it before any submitted code runs.
 */
export function safeMap<Key, Value>(): Map<Key, Value> {
  const map = new Map<Key, Value>();
  for (const name of ["get", "set", "has", "delete", "forEach"] as const) {
    Object.defineProperty(map, name, { value: Map.prototype[name] });
  }
  return map;
}
