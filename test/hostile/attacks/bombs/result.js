// Returns a result above the result limit.
// answers: 500 result_too_large
return "x".repeat(7 << 20);
