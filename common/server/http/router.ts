import { malformedRequest, methodNotAllowed, nothingHere } from '#kernel/errors/catalogue.ts';
import type { Headers, Route } from './http-types.ts';

export interface RouteMatch {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
  /** `isWithoutCors` of its path. */
  readonly withoutCors: boolean;
}

/** Most cached paths of each method, and the length up to which a path is cached. */
const knownPaths = 4096;
const knownLength = 256;

/** All routes of one path pattern. */
interface PathGroup {
  readonly segments: readonly string[];
  readonly methods: Map<string, Route>;
}

/**
 * Finds the route of a request. If several patterns match a path, only the most specific one counts (fixed text before
 * parameters). So `/_f_/:project/upload` answers 405 to GET although `/_f_/:project/:name` would match.
 */
export class Router {
  readonly #bySegmentCount = new Map<number, PathGroup[]>();
  /** Cached routes of paths, by method. */
  readonly #known = new Map<string, Map<string, RouteMatch>>();
  /** Patterns whose last segment matches all the rest. */
  readonly #withRest: PathGroup[] = [];
  readonly #hasWithoutCors: boolean;

  constructor(routes: readonly Route[]) {
    this.#hasWithoutCors = routes.some(({ withoutCors }) => withoutCors === true);
    for (const route of routes) this.#add(route);
    for (const groups of this.#bySegmentCount.values()) groups.sort(moreSpecificFirst);
  }

  #add(route: Route): void {
    const segments = route.path.split('/').slice(1);
    const groups = this.#groupsFor(segments);
    const shape = shapeOf(segments);
    let group = groups.find((other) => shapeOf(other.segments) === shape);
    if (group === undefined) {
      group = { segments, methods: new Map() };
      groups.push(group);
    }
    if (group.methods.has(route.method)) throw new Error(`two routes for ${route.method} ${route.path}`);
    group.methods.set(route.method, route);
  }

  #groupsFor(segments: readonly string[]): PathGroup[] {
    if (takesRest(segments)) return this.#withRest;
    const groups = this.#bySegmentCount.get(segments.length) ?? [];
    this.#bySegmentCount.set(segments.length, groups);
    return groups;
  }

  /** Throws 404 or 405 as ApiErrors. `method` is upper case; HEAD is served by GET routes. */
  match(method: string, path: string): RouteMatch {
    const known = this.#known.get(method)?.get(path);
    if (known !== undefined) return known;
    const match = this.#match(method, path);
    if (path.length <= knownLength) this.#remember(method, path, match);
    return match;
  }

  #remember(method: string, path: string, match: RouteMatch): void {
    const known = this.#known.get(method) ?? new Map<string, RouteMatch>();
    this.#known.set(method, known);
    if (known.size >= knownPaths) known.clear();
    known.set(path, match);
  }

  #match(method: string, sent: string): RouteMatch {
    const path = this.#withoutDoubledSlash(sent);
    const segments = path.split('/');
    const group = this.#find(segments);
    if (group === undefined) throw nothingHere();
    const route = group.methods.get(method === 'HEAD' ? 'GET' : method);
    if (route === undefined) throw methodNotAllowed(method, allowedMethods(group), optionsHeadersOf(group));
    const withoutCors = this.#hasWithoutCors && isClosed(group);
    return { route, params: readParams(group.segments, segments), withoutCors };
  }

  /** The answer to OPTIONS on a path; undefined: there is no route. */
  options(path: string): { readonly allow: readonly string[]; readonly optionsHeaders: Headers } | undefined {
    const group = this.#find(this.#withoutDoubledSlash(path).split('/'));
    if (group === undefined) return undefined;
    return { allow: allowedMethods(group), optionsHeaders: optionsHeadersOf(group) };
  }

  /** Whether web pages of other origins must not read a path. */
  isWithoutCors(path: string): boolean {
    if (!this.#hasWithoutCors) return false;
    const group = this.#find(path.split('/'));
    return group !== undefined && isClosed(group);
  }

  /**
   * A client whose base URL ends in a slash requests `//project/space`. Only paths of projects may begin like that: proxies
   * protect others, such as `/metrics`, by matching their prefix.
   */
  #withoutDoubledSlash(path: string): string {
    if (!path.startsWith('//')) return path;
    const single = path.replace(/^\/+/, '/');
    return this.#find(single.split('/'))?.segments.slice(0, 2).includes(':project') === true ? single : path;
  }

  #find(segments: readonly string[]): PathGroup | undefined {
    const exact = this.#bySegmentCount
      .get(segments.length - 1)
      ?.find((group) => fits(group.segments, segments));
    const rest = this.#withRest.find((group) => fitsBeforeRest(group.segments, segments));
    if (exact === undefined || rest === undefined) return exact ?? rest;
    return moreSpecificFirst(rest, exact) < 0 ? rest : exact;
  }
}

function isClosed({ methods }: PathGroup): boolean {
  for (const { withoutCors } of methods.values()) if (withoutCors === true) return true;
  return false;
}

/** A pattern without the names of its parameters. */
function shapeOf(segments: readonly string[]): string {
  return segments.map((segment) => (segment.startsWith(':') ? ':' : segment)).join('/');
}

function takesRest(pattern: readonly string[]): boolean {
  return pattern.at(-1)?.endsWith('*') === true;
}

function fitsBeforeRest(pattern: readonly string[], segments: readonly string[]): boolean {
  return segments.length > pattern.length && fits(pattern.slice(0, -1), segments);
}

function allowedMethods(group: PathGroup): string[] {
  const methods = [...group.methods.keys()];
  if (methods.includes('GET')) methods.push('HEAD');
  methods.push('OPTIONS');
  return methods;
}

function optionsHeadersOf(group: PathGroup): Headers {
  return Object.assign({}, ...[...group.methods.values()].map((route) => route.optionsHeaders));
}

/** `segments` of a path begin with the empty string before its first slash. */
function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  for (let i = 0; i < pattern.length; i++) {
    const wanted = pattern[i] as string;
    const given = segments[i + 1] as string;
    if (wanted.startsWith(':') ? given === '' : given !== wanted) return false;
  }
  return true;
}

function readParams(pattern: readonly string[], segments: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {};
  for (let i = 0; i < pattern.length; i++) {
    const name = pattern[i] as string;
    if (name.endsWith('*')) params[name.slice(1, -1)] = segments.slice(i + 1).join('/');
    else if (name.startsWith(':')) params[name.slice(1)] = decodeSegment(segments[i + 1] as string);
  }
  return params;
}

/** Throws 400. @param segment of a path, between two slashes */
export function decodeSegment(segment: string): string {
  if (segment.includes('\uFFFD')) throw malformedRequest('The path is not valid UTF-8');
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw malformedRequest('The path has broken percent-encoding', cause);
  }
}

function moreSpecificFirst(a: PathGroup, b: PathGroup): number {
  for (let i = 0; i < Math.min(a.segments.length, b.segments.length); i++) {
    const aFixed = !(a.segments[i] as string).startsWith(':');
    const bFixed = !(b.segments[i] as string).startsWith(':');
    if (aFixed !== bFixed) return aFixed ? -1 : 1;
  }
  return 0;
}
