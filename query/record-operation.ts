/** What `authOptions.scope` of a structure may list for whole families of operations (the published client's types). */
export const operationFamilies = ['find', 'insert', 'update', 'delete'] as const;
export type OperationFamily = (typeof operationFamilies)[number];

interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** After the space; empty for the space itself. */
  readonly suffix: string;
  /** Null: what needs no login, or checks it itself. */
  readonly family: OperationFamily | null;
}

/** Operations on a record space: what they do to its records decides what they need. */
export const recordOperations = {
  find: { method: 'GET', suffix: '', family: 'find' },
  findOne: { method: 'GET', suffix: '_single_', family: 'find' },
  search: { method: 'GET', suffix: 'search', family: 'find' },
  getKeys: { method: 'GET', suffix: 'get-key-values', family: 'find' },
  insert: { method: 'POST', suffix: '', family: 'insert' },
  insertOne: { method: 'POST', suffix: '_single_', family: 'insert' },
  updateOne: { method: 'POST', suffix: 'update', family: 'update' },
  updateOneById: { method: 'POST', suffix: 'update-by-id', family: 'update' },
  setKeys: { method: 'POST', suffix: 'set-key-values', family: 'update' },
  deleteOneById: { method: 'DELETE', suffix: '', family: 'delete' },
  clear: { method: 'DELETE', suffix: 'clear-records', family: 'delete' },
  getTokenOwner: { method: 'GET', suffix: 'get-token-owner', family: null },
  login: { method: 'POST', suffix: 'login', family: null },
  setStructure: { method: 'POST', suffix: 'set-structure', family: null },
  setInferredStructure: { method: 'POST', suffix: 'set-inferred-structure', family: null },
} as const satisfies Readonly<Record<string, Route>>;

export type OperationName = keyof typeof recordOperations;

export const operationNames = Object.keys(recordOperations) as readonly OperationName[];

export function familyOf(name: OperationName): OperationFamily | null {
  return recordOperations[name].family;
}

/** The operation that a request's method and path name. Throws for a route that is not in the table. */
export function operationOf({
  method,
  path,
}: {
  readonly method: string;
  readonly path: string;
}): OperationName {
  const served = method === 'HEAD' ? 'GET' : method;
  const suffix = path.split('/')[3] ?? '';
  const name = operationNames.find((candidate) => {
    const operation = recordOperations[candidate];
    return operation.method === served && operation.suffix === suffix;
  });
  if (name === undefined) throw new Error(`${method} ${path} is no record operation`);
  return name;
}
