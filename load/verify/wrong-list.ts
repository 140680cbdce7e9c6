import type { Verification } from '../run/result.ts';

const mostSentences = 100;

/** What a verification has found so far. */
export class WrongList {
  checked = 0;
  bytes = 0;
  readonly wrong: string[] = [];

  add(sentence: string): void {
    if (this.wrong.length < mostSentences) this.wrong.push(sentence);
  }

  get verification(): Verification {
    const { checked, bytes, wrong } = this;
    return { checked, bytes, wrong };
  }
}
