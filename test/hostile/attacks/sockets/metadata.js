// Requests credentials from the metadata servers of clouds.
// answers: 200 []
// after: attempts
const get = (host) => () => fetch(`http://${host}/latest/meta-data/`, { signal: AbortSignal.timeout(20_000) });
return through({
  amazon: get("169.254.169.254"),
  amazon6: get("[fd00:ec2::254]"),
  google: get("metadata.google.internal"),
  alibaba: get("100.100.100.200"),
  azure: get("168.63.129.16"),
  oracle: get("192.0.0.192"),
  number: get("2852039166"),
  mapped: get("[::ffff:169.254.169.254]"),
  nat64: get("[64:ff9b::a9fe:a9fe]"),
});
