// Imports code from the network.
// answers: 200 []
// after: attempts
return through({
  http: () => import("http://127.0.0.1:1/x.js"),
  https: () => import("https://127.0.0.1:1/x.js"),
  blob: () => import("blob:nodedata:0"),
  bare: () => import("left-pad"),
  network: () => import("file://127.0.0.1/share/x.js"),
});
