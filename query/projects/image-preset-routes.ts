import type { AccountOperation } from '#auth/account-routes.ts';
import { presetSizes, presetsSchema, readImagePresets } from '#catalogue/image-presets.ts';
import type { Project, Projects } from '#catalogue/projects.ts';
import type { ImagePreset } from '#kernel/config/image-presets.ts';
import { invalidBody, noSuchProject } from '#kernel/errors/catalogue.ts';
import { exactObject, named } from '#kernel/json/schema.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { readProjectSlug } from '#server/http/project-slug.ts';
import { readJson } from '#server/http/read-json.ts';
import { accountErrors, bodyErrors, jsonAnswer } from '#server/openapi/api-operation.ts';
import { curl } from '#server/openapi/curl.ts';

export interface ImagePresetParts {
  readonly projects: Projects;
  /** IMAGE_PRESETS. */
  readonly imagePresets: readonly ImagePreset[];
}

const path = '/_projects_/:project/files/presets';
/** Presets concern the files of the whole project, so a token for some of its record spaces does not set them. */
const needs = { grant: 'structure', touches: 'all spaces' } as const;
const errors = [...accountErrors, 'invalid_slug', 'project_not_found'] as const;
/** Twenty presets are 2 KB. */
const longestBody = 16 * 1024;

const answer = named(
  'ImagePresets',
  exactObject({
    presets: { ...presetsSchema, description: 'Those of the project, by name' },
    ofServer: {
      ...presetsSchema,
      description: 'Those of the server; one of the project with the same name replaces it',
    },
  }),
);

const example = { card: { width: 400, height: 300, fit: 'cover' } };
const at = (base: string): string => `${base}/_projects_/shop/files/presets`;
const setThem = (base: string): string => curl({ method: 'PUT', url: at(base), body: example });

/** A project's own sizes of pictures (docs/pictures.md). */
export const imagePresetOperations: readonly AccountOperation<ImagePresetParts>[] = [
  {
    name: 'getImagePresets',
    method: 'GET',
    path,
    needs,
    summary: 'Get the presets of a project’s pictures',
    description: 'The names that `preset` of a download takes, with the size of each.',
    answers: { 200: jsonAnswer('The presets', answer) },
    errors: [...errors],
    sample: (base) => `${setThem(base)}\n${curl({ url: at(base) })}`,
    async run({ projects, imagePresets }, request, ownerId) {
      const slug = readProjectSlug(request);
      const project = await projects.find(ownerId, slug, request.signal);
      if (project === null) throw noSuchProject(slug);
      return answerOf(project, imagePresets);
    },
  },
  {
    name: 'setImagePresets',
    method: 'PUT',
    path,
    needs,
    summary: 'Set the presets of a project’s pictures',
    description:
      'Replaces all of the project’s own. A changed preset makes new pictures when they are asked for. The project is created if it does not exist.',
    body: {
      description: 'A size for each name',
      content: { 'application/json': { schema: presetsSchema, example } },
    },
    answers: { 200: jsonAnswer('The presets', answer) },
    errors: [...accountErrors, ...bodyErrors, 'invalid_slug', 'too_many_projects'],
    sample: setThem,
    async run({ projects, imagePresets: ofServer }, request, ownerId) {
      const problems: string[] = [];
      const presets = readImagePresets(await readJson(request, longestBody), problems);
      if (problems.length > 0) throw invalidBody(problems);
      const project = await projects.ensure(ownerId, readProjectSlug(request), request.signal);
      await projects.setImagePresets(project, presets, request.signal);
      return answerOf({ imagePresets: presets }, ofServer);
    },
  },
];

function answerOf(
  { imagePresets = [] }: Pick<Project, 'imagePresets'>,
  ofServer: readonly ImagePreset[],
): HttpResponse {
  return noStoreJson({ presets: presetSizes(imagePresets), ofServer: presetSizes(ofServer) });
}
