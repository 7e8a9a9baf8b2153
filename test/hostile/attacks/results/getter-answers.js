// Returns an object with a getter that answers the run before the result does.
// after: frames
// answers: 200 "first"
return { get value() { forge(65, own, '"first"'); return 1; } };
