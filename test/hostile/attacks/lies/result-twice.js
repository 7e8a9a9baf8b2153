// Answers its run twice, and also runs of others that never started.
// after: frames
// strikes: later
// answers: 200 "first"
forge(65, own, '"first"');
forge(65, own, '"second"');
for (let turn = 0; turn < 100; turn++) forge(65, own + turn * 65_536, '"another"');
return never;
