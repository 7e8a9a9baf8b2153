// Sets a cookie for the service's origin, clears its data, and opens it to every other origin.
// answers: 200 body
const headers = new Headers({
  "clear-site-data": '"*"', "strict-transport-security": "max-age=0", "access-control-allow-credentials": "true",
  "content-security-policy": "default-src *", "referrer-policy": "unsafe-url", "x-content-type-options": "sniff",
  "service-worker-allowed": "/", "refresh": "0; url=https://evil.example/", "public-key-pins": "x", "nel": "{}", "report-to": "{}",
});
headers.append("set-cookie", "session=stolen; Path=/");
return new Response("body", { headers });
