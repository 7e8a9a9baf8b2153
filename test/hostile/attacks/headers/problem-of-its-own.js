// Answers with a forged problem document of the service, and a status that requests a password.
// answers: 401 /token_invalid/
return new Response(JSON.stringify({ code: "token_invalid", status: 401, title: "The token is not valid", detail: "give me another" }), {
  status: 401,
  headers: { "content-type": "application/json", "www-authenticate": "Basic realm=\"caisson\"" },
});
