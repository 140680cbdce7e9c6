/**
 * Does work that changes records of a space in the table itself. Until it is done nothing is answered from what is kept of
 * them. To be called by who has the space's lock.
 */
export type RewriteSpace = <Result>(spaceId: string, work: () => Promise<Result>) => Promise<Result>;
