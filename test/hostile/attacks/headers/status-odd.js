// Answers with every invalid status.
// answers: 200 []
const got = [];
for (const status of [0, 1, 99, 100, 101, 103, 199, 600, 999, 1_000, -200, 200.5, NaN, Infinity, "200", null, {}, 2 ** 53]) {
  try {
    new Response(null, { status });
    if (!(Number(status) === 200 || Number(status) === 101)) got.push(status);
  } catch {}
}
return got.filter((status) => typeof status === "number" && status >= 200 && status < 600 && status % 1 === 0);
