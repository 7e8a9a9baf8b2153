// Poisons the objects that every later run uses, and checks whether another container is affected.
// answers: 200 "poisoned"
Object.defineProperty(Object.prototype, "answer", { get: () => "poisoned" });
JSON.stringify = () => '"poisoned"';
Promise.prototype.then = function () {
  return this;
};
return "poisoned";
// then, in another container
// answers: 200 {"answer":"mine"}
return Promise.resolve({ answer: "mine" }).then((value) => value);
