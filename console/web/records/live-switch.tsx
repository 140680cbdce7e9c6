import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { LiveState } from './live-find.ts';

export interface LiveSwitchProps {
  readonly live: LiveState;
  readonly isLive: boolean;
  readonly onLive: (on: boolean) => void;
}

/** Switches live updates of the table. Its status has a fixed width, so that nothing moves. */
export function LiveSwitch({ live, isLive, onLive }: LiveSwitchProps): JSX.Element {
  const id = useId();
  return (
    <div class="row live">
      <span class="live-state quiet" role="status" id={`${id}-state`}>
        {wordsOf(live)}
      </span>
      <input
        type="checkbox"
        role="switch"
        aria-checked={isLive}
        id={id}
        checked={isLive}
        aria-describedby={`${id}-state`}
        onChange={(event) => onLive(event.currentTarget.checked)}
      />
      <label for={id}>Live</label>
    </div>
  );
}

function wordsOf(live: LiveState): string {
  if (live.kind === 'connecting') return 'Connecting…';
  if (live.kind !== 'live') return '';
  return live.isNarrowed ? 'Removals take 5 s' : 'Up to date';
}
