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
  /** What the path of a request must be; its groups are the route's parameters. */
  readonly path: RegExp;
}

/** A route that fits a request, and what its parameters are there. */
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

/**
 * The route for a request; undefined where no route fits the path or none of those that fit takes the method.
 *
 * @param path of the request's URL, still percent-encoded
 */
export const matchRoute = (routes: readonly Route[], method: string, path: string): RouteMatch | undefined => {
  const text = decoded(path);
  for (const route of routes) {
    const match = route.methods.has(method) ? route.path.exec(text) : null;
    if (match !== null) return { route, params: { ...match.groups } };
  }
  return undefined;
};

/** A path as the real host reads it: only an encoded slash stays what it is. */
const decoded = (path: string): string => {
  try {
    return decodeURIComponent(path.replaceAll(/%2f/gi, (slash) => `%25${slash.slice(1)}`));
  } catch {
    // Not UTF-8: it stands for itself.
    return path;
  }
};
