import type { HttpRequest, HttpResponse, Route } from '#server/http/http-types.ts';
import type { Authenticate, Principal } from './authenticate.ts';

/** An operation on an account's data: its route, its work, and its description. */
export interface AccountOperation<Deps>
  extends Pick<Route, 'method' | 'path'>,
    Omit<NonNullable<Route['api']>, 'id' | 'tag' | 'access'> {
  readonly name: string;
  /** @param grants of the token: the operation filters by them if it needs `granted spaces` */
  readonly run: (
    deps: Deps,
    request: HttpRequest,
    accountId: string,
    grants: Principal['grants'],
  ) => HttpResponse | Promise<HttpResponse>;
}

/** The routes of operations under one heading. All of them need an access token. */
export function accountRoutes<Deps extends { readonly authenticate: Authenticate }>(
  tag: string,
  operations: readonly AccountOperation<Deps>[],
  deps: Deps,
): Route[] {
  return operations.map(({ name, method, path, run, ...described }) => ({
    operation: name,
    method,
    path,
    api: { id: name, tag, access: 'token', ...described },
    async handler(request) {
      const { userId, grants } = await deps.authenticate(request);
      return run(deps, request, userId, grants);
    },
  }));
}
