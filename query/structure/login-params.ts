import { asObject } from './is-object.ts';

const most = 100;

/**
 * `functionOptions.login.compulsoryParams` of a structure: fields that login has to be given. They are the request's
 * own and never stored. Any other form is ignored, and login is stricter then.
 */
export function parseLoginParams(functionOptions: unknown): readonly string[] {
  const { login } = asObject(functionOptions);
  const { compulsoryParams } = asObject(login);
  if (!Array.isArray(compulsoryParams) || compulsoryParams.length > most) return [];
  const names = (compulsoryParams as readonly unknown[]).filter((name) => typeof name === 'string');
  return names.length === compulsoryParams.length ? [...new Set(names)] : [];
}
