import { ApiError } from '#kernel/errors/api-error.ts';
import { FileProblem } from '../formats/file-problem.ts';
import { doTask } from './do-task.ts';
import { type PreviewOutcome, type PreviewTask, previewOf } from './preview.ts';

async function outcomeOf(task: PreviewTask): Promise<PreviewOutcome> {
  try {
    return { preview: await previewOf(task) };
  } catch (error) {
    if (error instanceof ApiError || error instanceof FileProblem) return { refused: error.message };
    throw error;
  }
}

doTask<PreviewTask>(async (task, post) => post(await outcomeOf(task)));
