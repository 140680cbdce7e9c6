/** A request that is over. */
export interface FinishedRequest {
  /** Also the `X-Request-Id` of the answer. */
  readonly id: string;
  /** Pattern of the route, or '' when none matched: never the path. */
  readonly route: string;
  /** Name of the operation, '' with no route. */
  readonly operation: string;
  readonly method: string;
  /** null when nobody took the answer. */
  readonly status: number | null;
  /** From its head to the end of its answer. */
  readonly seconds: number;
  /** The account, once it is known. */
  readonly userId: string | null;
  /** The project that its path names, as it stands there; '' for none. */
  readonly project: string;
  /** Bytes of its body that have arrived. */
  readonly bytesIn: number;
  /** Bytes of the answer's body that were sent. */
  readonly bytesOut: number;
}

/** Observes the server, for metrics. Called once or a few times a request: it must be quick, and never throw. */
export interface HttpObserver {
  answered(request: FinishedRequest): void;
  /** More bytes of a request's body have arrived. */
  received(route: string, bytes: number): void;
}
