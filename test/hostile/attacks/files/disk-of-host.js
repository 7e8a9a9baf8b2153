// Reads the size and the use of the host's disk and memory.
// answers: 200 []
// after: attempts
const { statfsSync } = require("node:fs");
const places = ["/", ".", "/tmp", process.execPath];
return through(Object.fromEntries(places.map((place) => [place, () => statfsSync(place)])));
