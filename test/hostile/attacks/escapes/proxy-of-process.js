// Hands the harness a Proxy whose traps look at whoever touches it.
// answers: 200 /^\{\}$/
const seen = [];
const spy = new Proxy({}, { get: (target, key, receiver) => (seen.push([target, key, receiver]), undefined) });
return spy;
