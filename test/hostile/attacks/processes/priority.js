// Raises its own priority above all other processes.
// answers: 200 []
// after: attempts
const os = require("node:os");
return through({
  itself: () => os.setPriority(0, -20),
  service: () => os.setPriority(SERVICE_PID, 19),
});
