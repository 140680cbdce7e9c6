import type { QueryAnswer, QueryHarness } from './query-harness.ts';

/** What an account may ask of its projects. */
export function projectsOf({ call }: Pick<QueryHarness, 'call'>, owner?: string) {
  const ask = (method: string, path: string, query = ''): Promise<QueryAnswer> =>
    call({ method, path: `/_projects_${path}`, query, ...(owner === undefined ? {} : { owner }) });
  return {
    list: (query = '') => ask('GET', '', query),
    spaces: (project: string, query = '') => ask('GET', `/${project}/spaces`, query),
    space: (project: string, space: string) => ask('GET', `/${project}/spaces/${space}`),
    dropProject: (project: string) => ask('DELETE', `/${project}`),
    dropSpace: (project: string, space: string) => ask('DELETE', `/${project}/spaces/${space}`),
    dropField: (project: string, space: string, field: string) =>
      ask('DELETE', `/${project}/spaces/${space}/fields/${field}`),
  };
}
