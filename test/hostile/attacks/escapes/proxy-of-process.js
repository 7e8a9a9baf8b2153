// Gives the harness a Proxy whose trap records its arguments.
// answers: 200 /^\{\}$/
const seen = [];
const spy = new Proxy({}, { get: (target, key, receiver) => (seen.push([target, key, receiver]), undefined) });
return spy;
