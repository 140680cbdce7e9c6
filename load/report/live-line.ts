import type { Window } from '../run/result.ts';
import { formatDuration, formatNumber, formatTime, oneLine } from './format.ts';

/** Where it is written: a terminal, or a file that is read later. */
export interface LiveStream {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

export interface LiveLine {
  window(window: Window): void;
  /** Writes a line that stays, above the live one. */
  say(line: string): void;
  /** Removes the live line. */
  end(): void;
}

/** Seconds between lines where they stay. */
const rare = 10;
/** Moves to the first column, and clears the line: ECMA-48, CR and EL. */
const clear = '\r\x1b[K';

/** The second that ended last, in one line: on a terminal over the line before, elsewhere a line each ten seconds. */
export function createLiveLine(stream: LiveStream): LiveLine {
  let shown = '';
  return {
    window(window) {
      const line = describeWindow(window);
      if (stream.isTTY) {
        // a line that wraps could not be cleared
        shown = line.slice(0, Math.max(0, (stream.columns || 80) - 1));
        stream.write(clear + shown);
      } else if ((window.at + 1) % rare === 0) stream.write(`${line}\n`);
    },
    say(line) {
      stream.write(stream.isTTY ? `${clear}${oneLine(line)}\n${shown}` : `${oneLine(line)}\n`);
    },
    end() {
      if (shown !== '') stream.write(clear);
      shown = '';
    },
  };
}

function describeWindow(window: Window): string {
  const { at, phase, good, failed, p50, p99, max, toolCpu, targetCpu } = window;
  const time = (value: number | null): string => (value === null ? '-' : formatTime(value));
  const cpu = [...(targetCpu === null ? [] : [`target ${cores(targetCpu)}`]), `tool ${cores(toolCpu)}`];
  return oneLine(
    [
      `${formatDuration(at + 1)} ${phase}`,
      `${formatNumber(good)}/s${failed === 0 ? '' : `, ${formatNumber(failed)} failed`}`,
      `p50 ${time(p50)}, p99 ${time(p99)}, max ${time(max)}`,
      `CPU ${cpu.join(', ')}`,
    ].join('  '),
  );
}

function cores(share: number): string {
  return share.toFixed(2);
}
