/** How long closing the stores may take after the drain, in milliseconds. */
export const closeTimeout = 20_000;
