/** A finished request. */
export interface FinishedRequest {
  /** Also the `X-Request-Id` of the answer. */
  readonly id: string;
  /** Pattern of the route, or '' when none matched: never the path. */
  readonly route: string;
  /** Name of the operation, '' without a route. */
  readonly operation: string;
  readonly method: string;
  /** null: the client left before the response. */
  readonly status: number | null;
  /** From the request's head to the end of the response. */
  readonly seconds: number;
  /** The account, once it is known. */
  readonly userId: string | null;
  /** The project in the path, as written there; '' for none. */
  readonly project: string;
  /** Received bytes of the request's body. */
  readonly bytesIn: number;
  /** Sent bytes of the response's body. */
  readonly bytesOut: number;
}

/** Observes the server, for metrics. Called a few times for each request, so it must be fast and never throw. */
export interface HttpObserver {
  answered(request: FinishedRequest): void;
  /** More bytes of a request's body have arrived. */
  received(route: string, bytes: number): void;
}
