// Makes the proxy in front of the service send one of the proxy's files.
// answers: 200 body
return new Response("body", {
  headers: {
    "x-accel-redirect": "/etc/passwd", "x-accel-buffering": "yes", "x-sendfile": "/etc/passwd", "x-forwarded-host": "evil", "x-forwarded-for": "::1",
  },
});
