/** What the engine catches when it starts. SIGTSTP is Ctrl-Z, which it takes for one of them. */
const caught = ['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGTRAP', 'SIGSYS', 'SIGTSTP'] as const;

/**
 * Gives fatal signals back to the kernel, which ends the process at once and reports it to the waiting parent. The
 * embedded engine catches them for a report of its own, and then hangs for minutes with the port open
 * (docs/decisions/019-fatal-signals.md). To be called after the engine has started.
 */
export function restoreFatalSignals(): void {
  const nothing = (): void => {};
  for (const signal of caught) {
    // libuv installs its handler for the first listener, and the kernel's default, SIG_DFL, after the last
    process.on(signal, nothing);
    process.removeListener(signal, nothing);
  }
}
