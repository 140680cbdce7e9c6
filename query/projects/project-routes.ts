import type { Authenticate } from '../../common/auth/authenticate.ts';
import { invalidSlug, noSuchProject, recordSpaceNotFound } from '../../common/errors/catalogue.ts';
import type { HttpRequest, HttpResponse, Route } from '../../common/http/http-types.ts';
import { readListQuery } from '../../common/http/list-parameters.ts';
import { noStoreJson } from '../../common/http/no-store-json.ts';
import { slugProblem } from '../../common/metadata/slug.ts';
import { uuidV5 } from '../../common/metadata/uuid-v5.ts';
import { readPath } from '../input/space-reference.ts';
import type { CatalogueEntry } from '../space/space-catalogue.ts';
import { type SpaceFigures, SpaceSizes } from '../space/space-figures.ts';
import { structureText } from '../structure/structure.ts';
import {
  projectDescriptions as descriptions,
  projectParameters,
  spaceParameters,
} from './describe-projects.ts';
import { type DropDeps, dropField, dropProject, dropSpace } from './drop-space.ts';

const noFigures: SpaceFigures = { records: 0, bytes: 0 };

/** What an account may see of its projects and record spaces, and drop of them. */
export function projectRoutes(deps: DropDeps & { readonly authenticate: Authenticate }): Route[] {
  const { authenticate, projects, catalogue } = deps;
  const sizes = new SpaceSizes(deps.store);

  const listProjects = async ({ query, signal }: HttpRequest, ownerId: string): Promise<HttpResponse> => {
    const { limit, after } = readListQuery(projectParameters, query);
    const found = await projects.list(ownerId, { limit: limit + 1, after }, signal);
    const page = found.slice(0, limit);
    const ids = page.map(({ id }) => id);
    const counts = await catalogue.countByProject(ownerId, ids, signal);
    return noStoreJson({
      projects: page.map(({ id, slug, createdAt }) => ({
        ...{ slug, createdAt: createdAt.toISOString(), spaces: counts.get(id) ?? 0 },
      })),
      next: found.length > limit ? page.at(-1)?.slug : null,
    });
  };

  const listSpaces = async (request: HttpRequest, ownerId: string): Promise<HttpResponse> => {
    const { query, signal } = request;
    const project = readProject(request);
    const { limit, after, search } = readListQuery(spaceParameters, query);
    const projectId = uuidV5(ownerId, project);
    const found = await catalogue.list({ projectId, limit: limit + 1, after, search }, signal);
    if (found.length === 0 && (await projects.find(ownerId, project, signal)) === null) {
      throw noSuchProject(project);
    }
    const page = found.slice(0, limit);
    const ids = page.map(({ recordsId }) => recordsId);
    const figures = ids.length === 0 ? new Map<string, SpaceFigures>() : await sizes.of(ids, ownerId, signal);
    return noStoreJson({
      spaces: page.map((entry) => listed(entry, figures.get(entry.recordsId))),
      next: found.length > limit ? page.at(-1)?.structure.slug : null,
    });
  };

  const getSpace = async (request: HttpRequest, ownerId: string): Promise<HttpResponse> => {
    const { id, slug } = readSpace(request, ownerId);
    const entry = await catalogue.find(id, request.signal);
    if (entry === null) throw recordSpaceNotFound(slug, '');
    const figures = await sizes.of([entry.recordsId], ownerId, request.signal);
    const structure = shown(entry);
    return noStoreJson({ ...listed(entry, figures.get(entry.recordsId), structure), structure });
  };

  const dropProjectOf = async (request: HttpRequest, ownerId: string): Promise<HttpResponse> => {
    await dropProject(deps, { ownerId, slug: readProject(request) }, request.signal);
    return gone;
  };

  const dropSpaceOf = async (request: HttpRequest, ownerId: string): Promise<HttpResponse> => {
    await dropSpace(deps, readSpace(request, ownerId), request.signal);
    return gone;
  };

  const dropFieldOf = async (request: HttpRequest, ownerId: string): Promise<HttpResponse> => {
    const { field = '' } = request.params;
    await dropField(deps, { ...readSpace(request, ownerId), field }, request.signal);
    return gone;
  };

  const route = (
    name: keyof typeof descriptions,
    method: 'GET' | 'DELETE',
    path: string,
    run: (request: HttpRequest, ownerId: string) => Promise<HttpResponse>,
  ): Route => ({
    ...{ operation: name, api: { id: name, ...descriptions[name] }, method, path: `/_projects_${path}` },
    async handler(request) {
      const { userId } = await authenticate(request);
      return run(request, userId);
    },
  });
  const space = '/:project/spaces/:space';
  return [
    route('listProjects', 'GET', '', listProjects),
    route('dropProject', 'DELETE', '/:project', dropProjectOf),
    route('listSpaces', 'GET', '/:project/spaces', listSpaces),
    route('getSpace', 'GET', space, getSpace),
    route('dropSpace', 'DELETE', space, dropSpaceOf),
    route('dropField', 'DELETE', `${space}/fields/:field`, dropFieldOf),
  ];
}

const gone: HttpResponse = { status: 204, headers: { 'cache-control': 'no-store' } };

function readProject({ params }: HttpRequest): string {
  const { project = '' } = params;
  const problem = slugProblem('project', project);
  if (problem !== null) throw invalidSlug([problem]);
  return project;
}

function readSpace({ params }: HttpRequest, ownerId: string): { readonly id: string; readonly slug: string } {
  const { projectSlug, slug } = readPath(params);
  return { id: uuidV5(ownerId, projectSlug, slug), slug };
}

interface ShownStructure {
  readonly name: string;
  readonly description: string;
  readonly recordStructure: unknown;
}

/** The stored structure in the form of the `structure` header. */
function shown({ structure }: CatalogueEntry): ShownStructure {
  return JSON.parse(structureText(structure)) as ShownStructure;
}

function listed(
  entry: CatalogueEntry,
  figures = noFigures,
  { name, description, recordStructure: fields } = shown(entry),
) {
  const { slug } = entry.structure;
  return {
    ...{ slug, name, description, fields, createdAt: entry.createdAt.toISOString() },
    ...figures,
  };
}
