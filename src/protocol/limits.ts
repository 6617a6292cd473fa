/** The largest int64, as "without limit" on the wire. The nearest double is 2^63, which encodes as the int64 itself. */
export const INT64_MAX = 2 ** 63
