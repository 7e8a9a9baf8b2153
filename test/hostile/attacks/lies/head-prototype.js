// Starts its answer with a head that would change the prototype of all objects of the service.
// after: frames
// answers: 200
forge(66, own, '{"__proto__":{"status":999},"constructor":{"prototype":{"headers":1}},"status":200,"headers":["__proto__","x"]}');
forge(68, own);
return never;
