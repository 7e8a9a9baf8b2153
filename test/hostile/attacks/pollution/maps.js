// Replaces the methods of maps and sets, which store codes and modules.
// answers: 200 "replaced"
for (const type of [Map, Set, WeakMap, WeakSet, WeakRef]) {
  for (const name of Object.getOwnPropertyNames(type.prototype)) {
    if (name === "constructor" || name === "size") continue;
    type.prototype[name] = () => undefined;
  }
}
return "replaced";
