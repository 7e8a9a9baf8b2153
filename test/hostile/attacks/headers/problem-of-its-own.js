// Answers a problem document in the words of the service, with a status that asks for another password.
// answers: 401 /token_invalid/
return new Response(JSON.stringify({ code: "token_invalid", status: 401, title: "The token is not valid", detail: "give me another" }), {
  status: 401,
  headers: { "content-type": "application/json", "www-authenticate": "Basic realm=\"caisson\"" },
});
