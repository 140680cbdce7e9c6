import { covers } from '#records/structure/space-auth.ts';
import type { Structure } from '#records/structure/structure.ts';
import type { Route } from '#server/http/http-types.ts';
import { buildDocument } from '#server/openapi/build-document.ts';
import type { JsonObject } from '#server/openapi/components.ts';
import { type DescribedOperation, describeOperation } from './describe-operation.ts';
import type { SpaceModel } from './space-model.ts';
import { isSearchable, typedSpace } from './typed-space.ts';

/** A description has no handlers. */
const handler: Route['handler'] = () => {
  throw new Error('a description serves no requests');
};

/** Describes the operations of one record space, by its stored structure. @param server its address for browsers */
export function describeSpace(
  operations: readonly DescribedOperation[],
  structure: Structure,
  server: string,
): JsonObject {
  const model = typedSpace(structure);
  const { projectSlug, slug, name, description } = structure;
  return buildDocument(
    {
      title: name || slug,
      description:
        `${description ?? ''}\n\nThe record space \`${slug}\` of the project \`${projectSlug}\`. Fields may be named by their slugs as well.`.trim(),
      server,
      base: '',
      fixed: { project: projectSlug, space: slug },
    },
    operations
      .filter((operation) => isOfSpace(operation, structure))
      .flatMap((operation) => routesOf(operation, model, structure)),
  );
}

/** Login and changes of structures are not about the records of this space. */
function isOfSpace({ name, family }: DescribedOperation, { fields }: Structure): boolean {
  if (name === 'search') return fields.some(isSearchable);
  return family !== null || name === 'getTokenOwner';
}

function routesOf(operation: DescribedOperation, model: SpaceModel, { auth }: Structure): Route[] {
  const { method, path, also = [] } = operation;
  const needsLogin = auth?.active === true && covers(auth, operation);
  const describe = (other?: (typeof also)[number]): NonNullable<Route['api']> => {
    const { sample: _, ...api } = describeOperation(operation, model, other);
    if (!needsLogin) return api;
    const parameters = (api.parameters ?? []).map((parameter) =>
      parameter.name === 'token' ? { ...parameter, required: true } : parameter,
    );
    return { ...api, parameters };
  };
  return [
    { method, path, handler, api: describe() },
    ...also.map((other) => ({ ...other, handler, api: describe(other) })),
  ];
}
