/** What `authOptions.scope` of a structure may list for whole families of operations (the published client's types). */
export const operationFamilies = ['find', 'insert', 'update', 'delete'] as const;
export type OperationFamily = (typeof operationFamilies)[number];

/** Operations on a record space by what they do to its records. Null: needs no login, or checks it itself. */
const families = {
  find: 'find',
  findOne: 'find',
  search: 'find',
  getKeys: 'find',
  insert: 'insert',
  insertOne: 'insert',
  updateOne: 'update',
  updateOneById: 'update',
  setKeys: 'update',
  deleteOneById: 'delete',
  clear: 'delete',
  getTokenOwner: null,
  login: null,
  setStructure: null,
  setInferredStructure: null,
} as const satisfies Readonly<Record<string, OperationFamily | null>>;

export type OperationName = keyof typeof families;

export const operationNames = Object.keys(families) as readonly OperationName[];

export function familyOf(name: OperationName): OperationFamily | null {
  return families[name];
}
