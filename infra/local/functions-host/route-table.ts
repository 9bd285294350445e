import { z } from 'zod';

import type { BindingInfo } from './functions-core.ts';
import type { RegisteredFunction } from './registry.ts';

/** Who may call a function: anybody, whoever has a function key, or whoever has the master key. */
export type AuthLevel = 'anonymous' | 'function' | 'admin';

/** A registered function that HTTP requests reach. */
export interface Route {
  readonly registered: RegisteredFunction;
  /** The name of its HTTP trigger's binding. */
  readonly bindingName: string;
  readonly authLevel: AuthLevel;
  /** In upper case; empty means every method. */
  readonly methods: ReadonlySet<string>;
  /** The route as registered, after the prefix, for messages. */
  readonly template: string;
  readonly segments: readonly Segment[];
}

/** A route that fits a request, and what its parameters are there. */
export interface RouteMatch {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

type Segment =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'parameter'; readonly name: string; readonly isOptional: boolean }
  | { readonly kind: 'rest'; readonly name: string };

const httpTriggerSchema = z.object({
  authLevel: z
    .string()
    .toLowerCase()
    .pipe(z.enum(['anonymous', 'function', 'admin'])),
  methods: z.array(z.string().toUpperCase()),
  route: z.string().optional(),
});

/** The real host keeps these for itself. */
const RESERVED = /^(admin|runtime)(\/|$)/i;

/**
 * The routes of an app's functions, those with more literal text first.
 *
 * @param routePrefix from host.json, before every route
 * @returns none for functions without an HTTP trigger
 * @throws {Error} for a route this host does not understand
 */
export const routeTable = (functions: readonly RegisteredFunction[], routePrefix: string): readonly Route[] =>
  functions
    .flatMap((registered) => toRoutes(registered, routePrefix))
    .sort((a, b) => (precedence(a) < precedence(b) ? -1 : 1));

const toRoutes = (registered: RegisteredFunction, routePrefix: string): readonly Route[] =>
  Object.entries(registered.metadata.bindings)
    .filter(([, { type }]) => type === 'httpTrigger')
    .map(([bindingName, binding]) => toRoute(registered, routePrefix, bindingName, binding));

const toRoute = (
  registered: RegisteredFunction,
  routePrefix: string,
  bindingName: string,
  binding: BindingInfo,
): Route => {
  const { name } = registered.metadata;
  const { authLevel, methods, route = name } = httpTriggerSchema.parse(binding);
  if (route.startsWith('/')) throw new Error(`${name}: a route starts without a slash`);
  const template = routePrefix === '' ? route : `${routePrefix}/${route}`;
  if (RESERVED.test(template)) throw new Error(`${name}: the host keeps the route ${template} for itself`);
  return {
    registered,
    bindingName,
    authLevel,
    methods: new Set(methods),
    template: route,
    segments: pathSegments(template).map((text) => toSegment(name, text)),
  };
};

const toSegment = (functionName: string, text: string): Segment => {
  const [, star, name, optional] = /^\{(\*?)(\w+)(\??)\}$/.exec(text) ?? [];
  if (name !== undefined) {
    return star === '*' ? { kind: 'rest', name } : { kind: 'parameter', name, isOptional: optional === '?' };
  }
  if (/[{}]/.test(text)) throw new Error(`${functionName}: this host does not understand the route's ${text}`);
  return { kind: 'literal', text: text.toLowerCase() };
};

const PRECEDENCE: Readonly<Record<Segment['kind'], string>> = { literal: '1', parameter: '2', rest: '3' };
const precedence = (route: Route): string => route.segments.map(({ kind }) => PRECEDENCE[kind]).join('');

// One slash at the end is tolerated; an empty segment anywhere else matches nothing.
const pathSegments = (path: string): readonly string[] => {
  const trimmed = path.replace(/^\//, '').replace(/\/$/, '');
  return trimmed === '' ? [] : trimmed.split('/');
};

/**
 * The route for a request; undefined where no route fits the path or none of those that fit takes the method.
 *
 * @param path of the request's URL, still percent-encoded
 */
export const matchRoute = (routes: readonly Route[], method: string, path: string): RouteMatch | undefined => {
  const given = pathSegments(path).map(decodeSegment);
  for (const route of routes) {
    if (route.methods.size > 0 && !route.methods.has(method)) continue;
    const params = matchSegments(route.segments, given);
    if (params !== undefined) return { route, params };
  }
  return undefined;
};

const matchSegments = (
  segments: readonly Segment[],
  given: readonly string[],
): Readonly<Record<string, string>> | undefined => {
  const params: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    if (segment.kind === 'rest') return { ...params, [segment.name]: given.slice(index).join('/') };
    const text = given[index];
    if (segment.kind === 'literal') {
      if (text?.toLowerCase() !== segment.text) return undefined;
    } else if (text !== undefined && text !== '') {
      params[segment.name] = text;
    } else if (text !== undefined || !segment.isOptional) {
      return undefined;
    }
  }
  return given.length > segments.length ? undefined : params;
};

const decodeSegment = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not UTF-8: the segment stands for itself, as in the real host.
    return text;
  }
};
