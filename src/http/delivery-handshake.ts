import * as z from 'zod';

import { allowHeader } from './route/answers.ts';
import { parameter } from './route/fields.ts';
import { operation, type Route, route } from './route/route.ts';

/**
 * `OPTIONS /api/events`: the CloudEvents webhook handshake, which Event Grid asks for before it delivers. Any origin with a function key may
 * deliver, at any rate. The handshake itself needs no key: Microsoft does not say whether Event Grid sends the secret headers with it.
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
        'Event Grid sends it before it delivers. It needs no key. A sender with a function key may deliver at any rate.',
      query: 'any',
      headers: z.object({
        'WebHook-Request-Origin': parameter(
          z.string().min(1, 'is empty').optional(),
          'The sender. Without it the answer only lists the methods of this path.',
          'eventgrid.azure.net',
        ),
        'WebHook-Request-Rate': parameter(z.string().optional(), 'The requests a minute that it wants to send.', '120'),
      }),
      answers: {
        200: {
          description: 'The sender may deliver.',
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
