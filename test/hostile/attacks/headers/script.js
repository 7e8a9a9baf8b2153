// Answers a page with a script, which is to act in the service's own origin. The service's own policy stands beside it.
// answers: 200 /script/
return new Response("<script>fetch('/api/tokens', { method: 'POST' })</script>", {
  headers: { "content-type": "text/html", "content-security-policy-report-only": "script-src *" },
});
