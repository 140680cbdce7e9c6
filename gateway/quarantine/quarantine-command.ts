import { CommandError } from '#kernel/errors/command-error.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';
import type { CloudFile, HiddenState } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';

export interface QuarantineOrder {
  /** Names of files to publish; none: files that are not published are listed. */
  readonly publish: readonly string[];
}

/** Most files of a list, by state. */
const mostListed = 1000;
const timeout = 60_000;

/** What an operator does with files that the virus scanner holds back: list or publish them. */
export function quarantineCommand(
  cloudFiles: Pick<CloudFiles, 'findAny' | 'change' | 'withState'>,
): (order: unknown) => Promise<string> {
  return async (order) => {
    const { publish } = order as QuarantineOrder;
    const signal = AbortSignal.timeout(timeout);
    if (publish.length === 0) {
      const listed = (state: HiddenState) =>
        cloudFiles.withState(
          { state, before: new Date(Date.now() + timeout), limit: mostListed, perOwner: mostListed },
          signal,
        );
      const [checking, refused] = [await listed('checking'), await listed('refused')];
      return JSON.stringify({ checking: checking.map(shown), refused: refused.map(shown) }, null, 2);
    }
    const files = await Promise.all(
      publish.map((name) => (isStoredName(name) ? cloudFiles.findAny(name, signal) : null)),
    );
    const wrong = publish.filter((_, at) => files[at]?.state === undefined);
    if (wrong.length > 0)
      throw new CommandError(`no such file is held back by the virus scanner: ${wrong.join(', ')}`);
    await cloudFiles.change(publish, { state: null }, signal);
    return `published: ${publish.join(', ')}`;
  };
}

function shown({ name, ownerId, projectSlug, size, createdAt }: CloudFile) {
  return { name, account: ownerId, project: projectSlug, size, createdAt: createdAt.toISOString() };
}
