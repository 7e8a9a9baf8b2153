// Answers a Response that stands for an error of the network, or for a redirect to a script.
// answers: 500 task_threw
// answers: 302
return Response.error();
