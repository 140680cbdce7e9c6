/** Two processes of one Sluice, as a kind of target: its address is where writes go, and its option `listening` where streams do. */
import { sluice } from '../../load/targets/sluice.ts';
import type { TargetKind } from '../../load/targets/target.ts';

const listeningTarget: TargetKind = {
  ...sluice,
  open(session) {
    const { address } = session;
    const writing = sluice.open(session);
    const listening = sluice.open({
      ...session,
      address: { ...address, url: address.options.listening as string },
    });
    const { openStreams } = listening;
    return {
      ...writing,
      ...(openStreams && { openStreams }),
      close() {
        writing.close();
        listening.close();
      },
    };
  },
};

// load/ takes the default export of a module as a kind of target
export default listeningTarget;
