/** A mix that can't be used: one sentence with file, line and key. */
export class MixProblem extends Error {
  constructor(file: string, line: number | null, sentence: string) {
    super(line === null ? `${file}: ${sentence}` : `${file}:${line}: ${sentence}`);
  }
}
