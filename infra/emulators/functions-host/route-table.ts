import { z } from 'zod';

import type { BindingInfo, RegisteredFunction } from './worker.ts';

/** An HTTP function. */
export interface Route {
  readonly registered: RegisteredFunction;
  /** The name of its HTTP trigger's binding. */
  readonly bindingName: string;
  /** Whether a caller needs a function key. */
  readonly authLevel: 'anonymous' | 'function';
  /** In upper case. */
  readonly methods: ReadonlySet<string>;
  /** Matches the path of a request. Its groups are the route's parameters. */
  readonly path: RegExp;
}

/** The route of a request, and the values of its parameters. */
export interface RouteMatch {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

const httpTriggerSchema = z.object({
  authLevel: z
    .string()
    .toLowerCase()
    .pipe(z.enum(['anonymous', 'function'])),
  methods: z.array(z.string().toUpperCase()).min(1),
  route: z.string().optional(),
});

/** The prefix of every route, by the real host's default. */
export const ROUTE_PREFIX = 'api';

/**
 * The routes of an app's HTTP functions. A literal comes before a parameter.
 *
 * @throws {Error} for a route that this host does not understand
 */
export const routeTable = (functions: readonly RegisteredFunction[]): readonly Route[] =>
  functions
    .flatMap((registered) =>
      Object.entries(registered.bindings)
        .filter(([, { type }]) => type === 'httpTrigger')
        .map(([bindingName, binding]) => toRoute(registered, bindingName, binding)),
    )
    .sort((a, b) => (a.precedence < b.precedence ? -1 : 1));

const toRoute = (registered: RegisteredFunction, bindingName: string, binding: BindingInfo) => {
  const { name } = registered;
  const { authLevel, methods, route = name } = httpTriggerSchema.parse(binding);
  if (route.startsWith('/')) throw new Error(`${name}: a route starts without a slash`);
  const segments = route.split('/').map((text) => {
    if (/^\{\w+\}$/.test(text)) return `(?<${text.slice(1, -1)}>[^/]+)`;
    if (!/^[\w.-]*$/.test(text)) throw new Error(`${name}: this host does not understand the route's ${text}`);
    return text.replaceAll('.', '\\.');
  });
  // One slash at the end is tolerated.
  const path = new RegExp(`^/${ROUTE_PREFIX}/${segments.join('/')}/?$`, 'i');
  const precedence = segments.map((segment) => (segment.startsWith('(') ? 2 : 1)).join('');
  return { registered, bindingName, authLevel, methods: new Set(methods), path, precedence };
};

/** The route for a method and a path that is still percent-encoded; undefined: there is no such route. */
export const matchRoute = (routes: readonly Route[], method: string, path: string): RouteMatch | undefined => {
  const text = decoded(path);
  for (const route of routes) {
    const match = route.methods.has(method) ? route.path.exec(text) : null;
    if (match !== null) return { route, params: { ...match.groups } };
  }
  return undefined;
};

/** A path as the real host reads it: only an encoded slash stays encoded. */
const decoded = (path: string): string => {
  try {
    return decodeURIComponent(path.replaceAll(/%2f/gi, (slash) => `%25${slash.slice(1)}`));
  } catch {
    // Not UTF-8.
    return path;
  }
};
