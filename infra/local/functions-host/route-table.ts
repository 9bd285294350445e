import { z } from 'zod';

import type { BindingInfo, RegisteredFunction } from './worker.ts';

/** A registered function that HTTP requests reach. */
export interface Route {
  readonly registered: RegisteredFunction;
  /** The name of its HTTP trigger's binding. */
  readonly bindingName: string;
  /** Whether a caller needs a function key. */
  readonly authLevel: 'anonymous' | 'function';
  /** In upper case. */
  readonly methods: ReadonlySet<string>;
  readonly segments: readonly Segment[];
}

/** A route that fits a request, and what its parameters are there. */
export interface RouteMatch {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/** A literal in lower case, or the name of a parameter. */
type Segment = { readonly literal: string } | { readonly parameter: string };

const httpTriggerSchema = z.object({
  authLevel: z
    .string()
    .toLowerCase()
    .pipe(z.enum(['anonymous', 'function'])),
  methods: z.array(z.string().toUpperCase()).min(1),
  route: z.string().optional(),
});

/** Before every route: the real host's default, which host.json may change and this project's does not. */
export const ROUTE_PREFIX = 'api';

/**
 * The routes of an app's functions, those with a literal where others have a parameter first.
 *
 * @returns none for functions without an HTTP trigger
 * @throws {Error} for a route this host does not understand
 */
export const routeTable = (functions: readonly RegisteredFunction[]): readonly Route[] =>
  functions
    .flatMap((registered) =>
      Object.entries(registered.bindings)
        .filter(([, { type }]) => type === 'httpTrigger')
        .map(([bindingName, binding]) => toRoute(registered, bindingName, binding)),
    )
    .sort((a, b) => (precedence(a) < precedence(b) ? -1 : 1));

const toRoute = (registered: RegisteredFunction, bindingName: string, binding: BindingInfo): Route => {
  const { name } = registered;
  const { authLevel, methods, route = name } = httpTriggerSchema.parse(binding);
  if (route.startsWith('/')) throw new Error(`${name}: a route starts without a slash`);
  const segments = pathSegments(`${ROUTE_PREFIX}/${route}`).map((text) => toSegment(name, text));
  return { registered, bindingName, authLevel, methods: new Set(methods), segments };
};

const toSegment = (functionName: string, text: string): Segment => {
  const [, parameter] = /^\{(\w+)\}$/.exec(text) ?? [];
  if (parameter !== undefined) return { parameter };
  if (/[{}]/.test(text)) throw new Error(`${functionName}: this host does not understand the route's ${text}`);
  return { literal: text.toLowerCase() };
};

const precedence = ({ segments }: Route): string => segments.map((segment) => ('literal' in segment ? 1 : 2)).join('');

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
    const params = route.methods.has(method) ? matchSegments(route.segments, given) : undefined;
    if (params !== undefined) return { route, params };
  }
  return undefined;
};

const matchSegments = (segments: readonly Segment[], given: readonly string[]): RouteMatch['params'] | undefined => {
  if (given.length !== segments.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const text = given[index] ?? '';
    if ('parameter' in segment && text !== '') params[segment.parameter] = text;
    else if (!('literal' in segment) || text.toLowerCase() !== segment.literal) return undefined;
  }
  return params;
};

const decodeSegment = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not UTF-8: the segment stands for itself, as in the real host.
    return text;
  }
};
