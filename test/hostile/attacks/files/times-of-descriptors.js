// Changes the time of a device of the host through a standard descriptor, as a signal to another guest.
// answers: 200 []
// leaves: nothing
const fs = require("node:fs");
return [0, 1, 2].filter((descriptor) => {
  try {
    // The current time, which also a process that is not the owner may set.
    fs.futimesSync(descriptor, "Infinity", "Infinity");
  } catch {
    return false;
  }
  const stat = fs.fstatSync(descriptor);
  return stat.isCharacterDevice() || stat.isFile();
});
