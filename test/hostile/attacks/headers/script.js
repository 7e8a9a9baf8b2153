// Answers with a page whose script should run in the service's origin. The service adds its own policy.
// answers: 200 /script/
return new Response("<script>fetch('/api/tokens', { method: 'POST' })</script>", {
  headers: { "content-type": "text/html", "content-security-policy-report-only": "script-src *" },
});
