const settleMilliseconds = 1500;

/** Lets a process finish what starting left to do: background threads of the engine, the compiler's child process. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, settleMilliseconds);
  });
}
