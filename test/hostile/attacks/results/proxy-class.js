// Returns a class that is called as a function.
// answers: 400 code_shape
module.exports = class {
  constructor() {
    throw new Error("made");
  }
};
