/** The most that the payload of a frame may be that is no result and has no bound of its own: above all of `fault` and `log`. */
export const OTHER_FRAME_BYTES = 131_072;
