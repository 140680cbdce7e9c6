import { forgetPeak, peakResidentBytes, residentBytes } from './process-usage.ts';

const sampleMilliseconds = 20;

/**
 * Samples resident memory, and asks the kernel for its own peak, which misses nothing between two samples. The
 * kernel's figure can only be used when its record could be reset, which not every container allows.
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
