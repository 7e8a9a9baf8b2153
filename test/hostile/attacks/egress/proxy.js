// Uses a proxy from the environment to connect.
// after: egress
// answers: 200 []
process.env.HTTP_PROXY = process.env.HTTPS_PROXY = process.env.http_proxy = `http://127.0.0.1:${CANARY_PORT}`;
process.env.NODE_USE_ENV_PROXY = "1";
return undenied([`http://127.0.0.1:${CANARY_PORT}/`]);
