// Gives all values another JSON, which is what its own results then are.
// answers: 200 "hijacked"
Object.prototype.toJSON = () => "hijacked";
setImmediate(() => delete Object.prototype.toJSON);
return { mine: true };
