/** How long a file may stay that is to expire: ten years. Seconds. */
export const longestExpiry = 10 * 365 * 24 * 3600;
