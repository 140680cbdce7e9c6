import { doTask } from '../imports/thread/do-task.ts';
import { type FoundProblem, findProblem, type ProblemTask } from './first-problem.ts';

doTask<ProblemTask>(async (task, post) => {
  const found = await findProblem(task);
  const problem = found && { line: found.line, reason: found.message };
  post({ problem } satisfies FoundProblem);
});
