import { confirmed } from '../parts/confirm.tsx';
import { toast, toastProblem } from '../parts/toast.tsx';
import { dropSpace } from './projects-api.ts';

/** Drops a record space when that is really meant. @returns whether it is gone */
export async function dropSpaceIfConfirmed(project: string, space: string): Promise<boolean> {
  const agreed = await confirmed({
    title: `Drop the record space ${space}?`,
    body: <p>The space and all its records are deleted. Nobody can undo this.</p>,
    confirm: 'Drop the record space',
    typed: space,
  });
  if (!agreed) return false;
  try {
    await dropSpace(project, space);
    toast(`The record space ${space} is dropped.`);
    return true;
  } catch (thrown) {
    toastProblem(thrown);
    return false;
  }
}
