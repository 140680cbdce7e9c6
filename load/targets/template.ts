import { hashOf } from '../seed/hash.ts';

/** Parts the random numbers of texts from the choice of requests. */
const salt = 0x7a3d;

/** Fills `{number}` and `{random}` (a whole number of 32 bits) of a text: the same number gives the same text. */
export function templateOf(text: string, seed: number): (number: number) => string {
  const parts = text.split(/(\{number\}|\{random\})/);
  if (parts.length === 1) return () => text;
  return (number) => {
    let filled = '';
    for (let at = 0; at < parts.length; at++) {
      const part = parts[at] as string;
      if (at % 2 === 0) filled += part;
      else filled += part === '{number}' ? number : hashOf(seed, number, salt + at);
    }
    return filled;
  };
}
