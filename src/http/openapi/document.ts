import { analyticsPaths, analyticsSchemas } from './analytics.ts';
import { callbackPaths, callSchemas, notificationPaths } from './calls.ts';
import { eventPaths, eventSchemas } from './events.ts';
import { type Described, jsonSchema, type NamedSchemas, type Paths } from './operation.ts';
import { servicePaths, serviceSchemas } from './service.ts';
import { problemSchema } from '../answers.ts';

/** What a build has besides what all have. */
export interface ExtraDescription {
  readonly paths: Paths;
  readonly schemas: NamedSchemas;
}

/**
 * The description of the API, OpenAPI 3.1, made from the schemas that validate the requests. Takes some milliseconds: make it once.
 *
 * @param extra what only this build has; undefined for a release build
 */
export const describeApi = (extra: ExtraDescription | undefined): Described => ({
  openapi: '3.1.1',
  info: {
    title: 'Camera-activity analytics and phone-call alerts',
    version: '1.0.0',
    summary:
      'Counts what wildfire cameras, their AI and their operators did, and phones people when a fire is reported.',
    description: [
      'Errors are `application/problem+json` (RFC 9457). An unknown path or a wrong method is an empty 404. Every answer forbids caching,',
      'sniffing, framing and plain http with the headers that are usual for that.',
      'An unknown or empty query parameter is a 400 that names it; `code` and `clientId` are the host’s own and tolerated everywhere.',
    ].join('\n'),
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/', description: 'Where this description came from.' }],
  tags: [
    { name: 'analytics', description: 'How much happened.' },
    { name: 'events', description: 'Recording what happened.' },
    { name: 'calls', description: 'Phoning people.' },
    { name: 'callbacks', description: 'For Communication Services alone.' },
    { name: 'service', description: 'About the service itself.' },
  ],
  paths: {
    ...analyticsPaths(),
    ...eventPaths(),
    ...notificationPaths(),
    ...extra?.paths,
    ...callbackPaths(),
    ...servicePaths(),
  },
  components: {
    schemas: {
      ...analyticsSchemas(),
      ...eventSchemas(),
      ...callSchemas(),
      ...extra?.schemas,
      ...serviceSchemas(),
      Problem: jsonSchema(problemSchema, 'output'),
    },
    headers: {
      'Retry-After': {
        description: 'Seconds to wait before sending the same again.',
        required: true,
        schema: { type: 'string', pattern: '^\\d+$' },
      },
      'WWW-Authenticate': { required: true, schema: { type: 'string', const: 'Bearer' } },
      Allow: { description: 'What may be done here.', required: true, schema: { type: 'string' } },
      'WebHook-Allowed-Origin': {
        description: 'Who may deliver: the origin that asked.',
        required: true,
        schema: { type: 'string' },
      },
      'WebHook-Allowed-Rate': {
        description: 'At any rate; where a rate was asked for.',
        schema: { type: 'string', const: '*' },
      },
    },
    securitySchemes: {
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
    },
  },
});
