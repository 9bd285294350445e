import * as z from 'zod';

import { allowHeader } from './route/answers.ts';
import { parameter } from './route/fields.ts';
import { operation, type Route, route } from './route/route.ts';

/**
 * `OPTIONS /api/events`: the CloudEvents webhook handshake, which Event Grid asks for before it delivers. Any origin may deliver, at any rate:
 * the function key says who may. A function of its own without a key, because it is not published whether Event Grid brings the secret headers
 * of a subscription with the handshake; and the answer gives nothing away.
 */
export const deliveryHandshake = (): Route =>
  route({
    name: 'DeliveryHandshake',
    path: 'events',
    authLevel: 'anonymous',
    OPTIONS: operation({
      operationId: 'askToDeliver',
      tag: 'events',
      summary: 'The CloudEvents webhook handshake',
      description:
        'Event Grid asks before it delivers; no key is needed. A sender with a function key may deliver, at any rate.',
      query: 'any',
      headers: z.object({
        'WebHook-Request-Origin': parameter(
          z.string().min(1, 'is empty').optional(),
          'Who would deliver; without it the answer says only what this path takes.',
          'eventgrid.azure.net',
        ),
        'WebHook-Request-Rate': parameter(z.string().optional(), 'How many requests a minute it would send.', '120'),
      }),
      answers: {
        200: {
          description: 'It may.',
          headers: z.object({
            ...allowHeader,
            'WebHook-Allowed-Origin': z.string().optional(),
            'WebHook-Allowed-Rate': z.literal('*').optional(),
          }),
        },
      },
      handle: ({ headers: { 'WebHook-Request-Origin': origin, 'WebHook-Request-Rate': rate } }) => ({
        status: 200,
        headers: {
          Allow: 'POST, OPTIONS',
          'WebHook-Allowed-Origin': origin,
          'WebHook-Allowed-Rate': origin === undefined || rate === undefined ? undefined : '*',
        },
      }),
    }),
  });
