// Replaces or removes every global.
// answers: 200 "removed"
for (const name of Object.getOwnPropertyNames(globalThis)) {
  try {
    delete globalThis[name];
  } catch {}
}
return "removed";
