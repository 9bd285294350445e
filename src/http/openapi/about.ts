import { VERSION } from '../../version.ts';
import type { ZodOpenApiObject, ZodOpenApiSecuritySchemeObject } from 'zod-openapi';

export const ABOUT = {
  openapi: '3.1.1',
  info: {
    title: 'Camera-activity analytics and phone-call alerts',
    version: VERSION,
    summary:
      'Counts what wildfire cameras, their AI and their operators did, and phones people when a fire is reported.',
    description: [
      'Errors are `application/problem+json` (RFC 9457): `code` is for machines, and `type` leads to what it means. An unknown or empty query',
      'parameter is a 400 that names it; `code` and `clientId` belong to the Functions host and are tolerated everywhere. `HEAD` answers what',
      '`GET` does, without the body; `OPTIONS` answers 204 with `Allow`. Another method of a known path is a 405, an unknown path is an empty',
      '404 of the Functions host. A body needs `Content-Length`: in chunks it does not arrive, and is a 411, unless the service has',
      '`HTTP_STREAMS=on`. An answer with an `ETag` may be kept and is asked about again with `If-None-Match`; any other must not be',
      'stored.',
      'Within version 1, members, codes, parameters and endpoints may be added. Nothing described is removed or changes its meaning. Ignore',
      'members and codes that you do not know.',
    ].join('\n'),
    contact: { name: 'The operator of this service' },
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/', description: 'Where this description came from.' }],
  tags: [
    { name: 'analytics', description: 'How much happened.' },
    { name: 'events', description: 'Recording what happened.' },
    { name: 'calls', description: 'Phoning people.' },
    { name: 'callbacks', description: 'For the telephone service alone.' },
    { name: 'service', description: 'About the service itself.' },
  ],
} satisfies Omit<ZodOpenApiObject, 'paths'>;

export const SECURITY_SCHEMES = {
  functionKeyHeader: {
    type: 'apiKey',
    in: 'header',
    name: 'x-functions-key',
    description: 'A function key of the app.',
  },
  functionKeyQuery: {
    type: 'apiKey',
    in: 'query',
    name: 'code',
    description:
      'The same key in the address, where a caller cannot set headers. Addresses end up in logs: prefer the header.',
  },
  callbackToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'The token that Communication Services signs for every callback.',
  },
} satisfies Readonly<Record<string, ZodOpenApiSecuritySchemeObject>>;
