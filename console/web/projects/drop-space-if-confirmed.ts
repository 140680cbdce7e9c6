import { address } from '../address.ts';
import { confirmed } from '../parts/confirmed.ts';
import { drop } from './projects-api.ts';

/** Drops a record space after a confirmation. @returns whether it was dropped */
export function dropSpaceIfConfirmed(project: string, space: string): Promise<boolean> {
  return confirmed({
    title: `Drop the record space ${space}?`,
    body: 'This deletes the space and all its records. This can’t be undone.',
    confirm: 'Drop the record space',
    typed: space,
    run: () => drop(address`/${project}/spaces/${space}`),
    done: `Record space ${space} dropped.`,
  });
}
