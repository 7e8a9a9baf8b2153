// Requests the credentials that clouds give to their machines.
// after: egress
// answers: 200 []
// leaves: nothing
return undenied(
  ["169.254.169.254", "169.254.170.2", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[fd00:ec2::254]", "100.100.100.200", "168.63.129.16", "192.0.0.192"].map(
    (host) => `http://${host}/latest/meta-data/`,
  ),
);
