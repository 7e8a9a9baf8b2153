// Replaces or removes every global that there is.
// answers: 200 "removed"
for (const name of Object.getOwnPropertyNames(globalThis)) {
  try {
    delete globalThis[name];
  } catch {}
}
return "removed";
