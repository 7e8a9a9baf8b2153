// Replaces the functions of Object and Reflect.
// answers: 200 "replaced"
// answers: 500 task_threw
for (const name of Object.getOwnPropertyNames(Object)) {
  if (typeof Object[name] === "function" && name !== "prototype") Object[name] = () => ({});
}
globalThis.Object = globalThis.Reflect = globalThis.Symbol = null;
return "replaced";
