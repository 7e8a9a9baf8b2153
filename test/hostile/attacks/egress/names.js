// Requests names that resolve to the service's machine.
// after: egress
// answers: 200 []
// leaves: nothing
return undenied([
  ...["localhost", "LOCALHOST", "localhost.", "a.localhost"].map((host) => `http://${host}:${CANARY_PORT}/`),
  ...["metadata.google.internal", "metadata"].map((host) => `http://${host}:8775/`),
]);
