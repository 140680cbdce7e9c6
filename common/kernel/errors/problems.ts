/** Nobody reads more, and a body of a megabyte can have a hundred thousand problems. */
export const listedProblems = 1000;

/** The problems of a request: as many texts as are worth an answer, and the number of the others. */
export class Problems {
  readonly #texts: string[] = [];
  #more = 0;

  /** Bound, so that it can be handed on. */
  readonly add = (problem: string): void => {
    if (this.#texts.length < listedProblems) this.#texts.push(problem);
    else this.#more++;
  };

  get found(): boolean {
    return this.#texts.length > 0;
  }

  list(): readonly string[] {
    return this.#more === 0 ? this.#texts : [...this.#texts, `and ${this.#more} more problems`];
  }
}
