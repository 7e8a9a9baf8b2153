// Answers with a Response that represents a network error, or a redirect to a script.
// answers: 500 task_threw
// answers: 302
return Response.error();
