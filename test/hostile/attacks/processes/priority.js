// Puts itself before everybody else on the processor.
// answers: 200 []
// after: attempts
const os = require("node:os");
return through({
  itself: () => os.setPriority(0, -20),
  service: () => os.setPriority(SERVICE_PID, 19),
});
