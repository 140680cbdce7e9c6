/** Told what the server does, for metrics. Called once or a few times a request: it must be quick, and never throw. */
export interface HttpObserver {
  /**
   * A request is over.
   * @param route pattern of the route, or '' when none matched @param status null when nobody took the answer
   */
  answered(route: string, method: string, status: number | null, seconds: number): void;
  /** So many more bytes of a request's body have arrived. */
  received(route: string, bytes: number): void;
}
