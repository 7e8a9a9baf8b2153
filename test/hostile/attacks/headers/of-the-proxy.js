// Has the proxy in front of the service send a file of its own.
// answers: 200 body
return new Response("body", {
  headers: {
    "x-accel-redirect": "/etc/passwd", "x-accel-buffering": "yes", "x-sendfile": "/etc/passwd", "x-forwarded-host": "evil", "x-forwarded-for": "::1",
  },
});
