// Sets headers of the service: its run, its limits and its errors.
// answers: 200 body
return new Response("body", {
  headers: { "caisson-run": "forged", "caisson-fault": "service", "caisson-version": "9", ratelimit: "forged", "server-timing": "forged", date: "never", server: "forged" },
});
