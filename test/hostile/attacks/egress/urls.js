// Writes URLs in which parsers see different hosts.
// after: egress
// answers: 200 []
// leaves: nothing
const port = CANARY_PORT;
return undenied([
  `http://example.com@127.0.0.1:${port}/`, `http://127.0.0.1:${port}#@example.com/`, `http://127.0.0.1:${port}?@example.com/`,
  `http://127.0.0.1:${port}\\@example.com/`, `http:/\\127.0.0.1:${port}/`, `http://①②⑦.0.0.1:${port}/`, `http://127。0。0。1:${port}/`, `http://%31%32%37.0.0.1:${port}/`,
]).then((others) => others.filter((each) => !/TypeError|ERR_INVALID_URL|undefined/.test(each)));
