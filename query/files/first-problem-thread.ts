import { parentPort, workerData } from 'node:worker_threads';
import { type FoundProblem, findProblem, type ProblemTask } from './first-problem.ts';

void findProblem(workerData as ProblemTask).then((found) => {
  const problem = found && { line: found.line, reason: found.message };
  parentPort?.postMessage({ problem } satisfies FoundProblem);
});
// the process ends it (endIdleThread)
parentPort?.on('message', () => {});
