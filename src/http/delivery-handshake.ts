import * as z from 'zod';

import { operation, type Operation } from './route/route.ts';

/**
 * `OPTIONS /api/events`: the CloudEvents webhook handshake. Any origin may deliver, at any rate: the function key says who may.
 */
export const deliveryHandshake = (): Operation =>
  operation({
    operationId: 'askToDeliver',
    tag: 'events',
    summary: 'The CloudEvents webhook handshake',
    description: 'Event Grid asks before it delivers. Whoever has a function key may, at any rate.',
    query: 'any',
    headers: z.object({
      'WebHook-Request-Origin': z
        .string('is missing')
        .min(1, 'is empty')
        .meta({ param: { description: 'Who would deliver.', example: 'eventgrid.azure.net' } }),
      'WebHook-Request-Rate': z
        .string()
        .optional()
        .meta({ param: { description: 'How many requests a minute it would send.', example: '120' } }),
    }),
    answers: {
      200: {
        description: 'It may.',
        headers: z.object({
          Allow: z.string().meta({ header: { id: 'Allow', description: 'What may be done here.' } }),
          'WebHook-Allowed-Origin': z.string().meta({
            header: { id: 'WebHook-Allowed-Origin', description: 'Who may deliver: the origin that asked.' },
          }),
          'WebHook-Allowed-Rate': z
            .literal('*')
            .optional()
            .meta({
              header: { id: 'WebHook-Allowed-Rate', description: 'At any rate; where a rate was asked for.' },
            }),
        }),
      },
    },
    problems: {
      400: {
        description: 'The header that says who asks is missing.',
        detail: 'WebHook-Request-Origin is missing',
        errors: [{ field: 'WebHook-Request-Origin', detail: 'is missing' }],
      },
    },
    handle: ({ headers }) => ({
      status: 200,
      headers: {
        Allow: 'POST, OPTIONS',
        'WebHook-Allowed-Origin': headers['WebHook-Request-Origin'],
        'WebHook-Allowed-Rate': headers['WebHook-Request-Rate'] === undefined ? undefined : '*',
      },
    }),
  });
