// Catches every element that is added to an array, by a setter of the prototype.
// answers: 200 "caught"
// answers: 500 task_exited
globalThis.caught = [];
for (const index of [0, 1, 2, 3]) {
  Object.defineProperty(Array.prototype, index, { set(value) { caught[caught.length] = value; }, get() { return "hijacked"; } });
}
return "caught";
