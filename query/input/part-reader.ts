import { ApiError } from '#kernel/errors/api-error.ts';
import { joinedProblems } from '#kernel/errors/joined-problems.ts';

/** Reads parts of a request one by one, so that one error lists the problems of all of them. */
export class PartReader {
  readonly #refusals: ApiError[] = [];

  /** @param instead stands for a refused part until `check` throws */
  read<Part>(part: () => Part, instead: Part): Part {
    try {
      return part();
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 400) throw error;
      this.#refusals.push(error);
      return instead;
    }
  }

  /** Throws a 400 with all problems if a part was refused, and with the code of the first refusal. */
  check(): void {
    const [first, ...more] = this.#refusals;
    if (first === undefined) return;
    if (more.length === 0) throw first;
    const problems = this.#refusals.flatMap((refusal) => refusal.problems);
    throw new ApiError(first.code, joinedProblems(problems), { problems });
  }
}
