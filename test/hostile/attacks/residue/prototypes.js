// Poisons what every later run uses, and looks whether another container feels it.
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
