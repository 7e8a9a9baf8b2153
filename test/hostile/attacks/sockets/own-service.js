// Requests the service itself, which would bypass limits and tokens.
// answers: 200 []
// after: attempts
return through({
  loopback: () => fetch(`http://127.0.0.1:${SERVICE_PORT}/healthz`),
  name: () => fetch(`http://localhost:${SERVICE_PORT}/healthz`),
  six: () => fetch(`http://[::1]:${SERVICE_PORT}/healthz`),
  decimal: () => fetch(`http://2130706433:${SERVICE_PORT}/healthz`),
  octal: () => fetch(`http://0177.0.0.1:${SERVICE_PORT}/healthz`),
  zero: () => fetch(`http://0:${SERVICE_PORT}/healthz`),
});
