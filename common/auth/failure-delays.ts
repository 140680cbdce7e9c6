/** What failed logins cost an identity. */
export interface FailureDelays {
  /** Failures that cost nothing; so many attempts of one identity may also run at once. */
  readonly free: number;
  /** Milliseconds after the first failure that is not free; each further one doubles it. */
  readonly firstDelay: number;
  readonly longestDelay: number;
  /** How long failures are remembered after the last of them. Milliseconds. */
  readonly rememberedFor: number;
}

export const failureDelays: FailureDelays = {
  free: 3,
  firstDelay: 250,
  longestDelay: 30_000,
  rememberedFor: 15 * 60_000,
};
