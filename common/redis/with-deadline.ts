/**
 * Settles with the work, or rejects after so many milliseconds. The client has a deadline for each command, which
 * begins when it is sent; this one is for commands that it never gets to send.
 */
export function withDeadline<Result>(work: Promise<Result>, milliseconds: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('Command timed out')), milliseconds);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
