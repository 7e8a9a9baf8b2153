// Starts its answer twice.
// after: frames
// answers: 200 cut
forge(66, own, HEAD);
forge(66, own, HEAD);
return never;
