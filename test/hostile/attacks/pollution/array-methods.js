// Replaces the methods of arrays.
// answers: 200 "replaced"
// answers: 500 task_exited
for (const name of Object.getOwnPropertyNames(Array.prototype)) {
  if (typeof [][name] === "function") Array.prototype[name] = () => { throw new Error("hijacked"); };
}
Array.isArray = Array.from = Array.of = () => true;
return "replaced";
