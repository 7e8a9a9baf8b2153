// Asks how large and how full the disk and the memory of the host are.
// answers: 200 []
// after: attempts
const { statfsSync } = require("node:fs");
const places = ["/", ".", "/tmp", process.execPath];
return through(Object.fromEntries(places.map((place) => [place, () => statfsSync(place)])));
