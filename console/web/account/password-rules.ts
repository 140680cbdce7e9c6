/** As the server asks for. */
export const passwordMin = 8;
export const passwordHint = `At least ${passwordMin} characters. A few words in a row are easy to remember and hard to guess.`;
