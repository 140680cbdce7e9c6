/** The work's result, or null when it takes longer than so many milliseconds: then it is quicker to do without Redis. */
export function unlessLate<Result>(work: Promise<Result>, milliseconds: number): Promise<Result | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, milliseconds, null);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
