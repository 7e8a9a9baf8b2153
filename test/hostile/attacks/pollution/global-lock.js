// Freezes every reachable object.
// answers: 200 "frozen"
const seen = new Set();
const freeze = (value) => {
  if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) return;
  seen.add(value);
  for (const key of Reflect.ownKeys(value)) {
    try {
      freeze(Reflect.getOwnPropertyDescriptor(value, key).value);
    } catch {}
  }
  try {
    if (value !== globalThis && value !== process) Object.freeze(value);
  } catch {}
};
for (const name of ["Object", "Array", "Promise", "Function", "Buffer", "Map", "Error", "JSON", "RegExp", "String"]) freeze(globalThis[name]);
return "frozen";
