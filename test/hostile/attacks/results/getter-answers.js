// Returns what answers its run when it is looked at, before the result can.
// after: frames
// answers: 200 "first"
return { get value() { forge(65, own, '"first"'); return 1; } };
