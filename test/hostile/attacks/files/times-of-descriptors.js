// Changes the time of a device of the host through a standard descriptor, for a neighbour to see.
// answers: 200 []
const fs = require("node:fs");
return [0, 1, 2].filter((descriptor) => {
  try {
    // The present moment, which needs no owner.
    fs.futimesSync(descriptor, "Infinity", "Infinity");
  } catch {
    return false;
  }
  const stat = fs.fstatSync(descriptor);
  return stat.isCharacterDevice() || stat.isFile();
});
