/** Most bytes of a request line and its headers. RFC 6585 section 5: 431 beyond it. */
export const maxHeadBytes = 64 * 1024;

/**
 * The native parser's own limit, beyond which it sends its own error page. It is twice our limit, so that most oversized
 * heads get our error response. A connection buffers at most this much before its request is read.
 */
export const nativeHeadBytes = 2 * maxHeadBytes;

/** Most headers that the native parser accepts. Beyond that it closes the connection. */
export const nativeHeaders = 98;
