// Signals the processes of the host by their host process ids.
// answers: 200 []
// after: attempts
return through({
  canary: () => process.kill(CANARY_PID, "SIGKILL"),
  service: () => process.kill(SERVICE_PID, "SIGTERM"),
  asked: () => process.kill(SERVICE_PID, 0),
  debugged: () => process._debugProcess(SERVICE_PID),
});
