import type { Subject } from '../subject/subject.ts';

/** Starts servers one after the other, and stops them whatever happens. */
export async function withSubjects<Result>(
  starts: readonly (() => Promise<Subject>)[],
  work: (subjects: readonly Subject[]) => Promise<Result>,
): Promise<Result> {
  const subjects: Subject[] = [];
  try {
    for (const start of starts) subjects.push(await start());
    return await work(subjects);
  } finally {
    for (const subject of subjects) await subject.stop();
  }
}
