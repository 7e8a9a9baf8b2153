/** `npm run test:long`: the tests that take chances take more of them. */
export const isLong: boolean = process.env["LONG"] === "1";
