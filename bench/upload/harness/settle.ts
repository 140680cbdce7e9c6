const settleMilliseconds = 1500;

/** Waits until a process has finished starting: background threads of the engine, the compiler's child process. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, settleMilliseconds);
  });
}
