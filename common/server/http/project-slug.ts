import { invalidSlug } from '#kernel/errors/catalogue.ts';
import { slugProblem } from '#kernel/ids/slug.ts';
import type { HttpRequest } from './http-types.ts';

/** The slug of the project that a path names. Throws a 400 that says what is wrong with it. */
export function readProjectSlug({ params }: Pick<HttpRequest, 'params'>): string {
  const { project = '' } = params;
  const problem = slugProblem('project', project);
  if (problem !== null) throw invalidSlug([problem]);
  return project;
}
