/** The most that the payload of a frame may be that is no result and has no bound of its own: above all of `fault` and `log`. */
export const OTHER_FRAME_BYTES = 131_072;
/** The most that the payload of an `open` or a `lookup` may be: far more than a name of DNS, and little to parse. */
export const EGRESS_MESSAGE_BYTES = 4_096;
