// Imports a file of the host, as code, as JSON and as text.
// answers: 200 []
// after: attempts
return through({
  code: () => import(`file://${CANARY_FILE}`),
  json: () => import(`file://${CANARY_FILE}`, { with: { type: "json" } }),
  passwd: () => import("file:///etc/passwd"),
  required: () => require(CANARY_FILE),
  relative: () => require(`../..${CANARY_FILE}`),
});
