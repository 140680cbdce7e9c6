import { forgetPeak, peakResidentBytes, residentBytes } from './process-usage.ts';

const sampleMilliseconds = 20;

/**
 * Samples resident memory, and reads the kernel's own peak, which misses nothing between two samples. The kernel's figure
 * is only usable if it could be reset, which not every container allows.
 */
export function watchMemory(pids: readonly number[]) {
  let kernelPeak = true;
  try {
    forgetPeak(pids);
  } catch {
    kernelPeak = false;
  }
  let peak = residentBytes(pids);
  let samples = 1;
  const timer = setInterval(() => {
    peak = Math.max(peak, residentBytes(pids));
    samples++;
  }, sampleMilliseconds);
  return {
    /** Ends the watch; answers the most that was resident, in bytes. */
    end() {
      clearInterval(timer);
      peak = Math.max(peak, residentBytes(pids), kernelPeak ? peakResidentBytes(pids) : 0);
      return { peak, samples };
    },
  };
}
