/** The format of argon2 hashes (https://github.com/P-H-C/phc-string-format). */
const hashPattern =
  /^\$argon2(?:id|i|d)\$v=(?:16|19)\$m=(\d{1,6}),t=(\d),p=([1-4])\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{16,86}$/;

/** KiB; argon2's own default for Node. */
const mostMemory = 65_536;

/** Whether an imported hash may be stored: verifying it must take bounded memory and time. */
export function isSafeHash(text: string): boolean {
  const [, memory, time] = hashPattern.exec(text) ?? [];
  return Number(memory) <= mostMemory && Number(memory) * Number(time) <= 4 * mostMemory;
}
