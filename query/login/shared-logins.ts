import { loginSlot } from '#auth/login-state.ts';
import type { SharedLoginStates } from '#auth/shared-login-states.ts';
import type { RecordWrites } from '#records/store/record-store.ts';

/** Users whose states are sent at once. */
const atOnce = 500;

/** Writes that also tell processes without records of users which logins have ended. */
export function sharingLogins(writes: RecordWrites, states: SharedLoginStates): RecordWrites {
  return {
    insert: (added) => writes.insert(added),
    async change(change) {
      const outcome = await writes.change(change);
      const { space, steps } = change;
      const changed = steps.flatMap(({ id, assignments }) => {
        const state = assignments?.find(({ slot }) => slot === loginSlot)?.value;
        return typeof state === 'string' ? [{ id, state }] : [];
      });
      // awaited here, where changes of one record are in order
      for (let from = 0; from < changed.length; from += atOnce)
        await Promise.all(
          changed
            .slice(from, from + atOnce)
            .map(({ id, state }) => states.put({ spaceId: space.id, id }, state)),
        );
      return outcome;
    },
  };
}
