// Changes the JSON of all values, which also changes its own results.
// answers: 200 "hijacked"
Object.prototype.toJSON = () => "hijacked";
setImmediate(() => delete Object.prototype.toJSON);
return { mine: true };
