import { createPeer, type Peer } from './peer.ts';

/** A worker's side of the channel to its supervisor. */
export interface SupervisorLink extends Peer {
  /** Called once when the supervisor is gone. Until this is set, the process ends at once. */
  onLost(act: () => void): void;
}

/** Throws where no supervisor started this process. */
export function linkToSupervisor(): SupervisorLink {
  if (process.send === undefined) throw new Error('--worker is for processes that a supervisor starts');
  const peer = createPeer(process as Parameters<typeof createPeer>[0]);
  let lost = (): void => process.exit(1);
  process.once('disconnect', () => {
    peer.close();
    lost();
  });
  return {
    ...peer,
    onLost(act) {
      lost = act;
    },
  };
}
