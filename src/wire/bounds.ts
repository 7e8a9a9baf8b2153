/** The payload limit, in bytes, of frames without a separate limit, mainly `fault` and `log`. */
export const OTHER_FRAME_BYTES = 131_072;
/** The payload limit of an `open` or a `lookup`, in bytes: far more than a DNS name needs, and quick to parse. */
export const EGRESS_MESSAGE_BYTES = 4_096;
