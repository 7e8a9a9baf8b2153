// Queries name servers, both the configured server and others.
// answers: 200 []
// after: attempts
const dns = require("node:dns").promises;
const resolver = new dns.Resolver({ timeout: 300, tries: 1 });
resolver.setServers([`127.0.0.1:${CANARY_UDP_PORT}`]);
return through({
  lookup: () => dns.lookup("caisson.invalid"),
  resolve: () => resolver.resolve4("caisson.invalid"),
  text: () => resolver.resolveTxt(`${MARK}.caisson.invalid`),
  reverse: () => resolver.reverse("127.0.0.1"),
});
