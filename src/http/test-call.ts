import * as z from 'zod';

import { alertTypeOf } from '../calls/model/alert-types.ts';
import type { Phone as CallsPhone } from '../calls/phone.ts';
import { type Phone, phoneOr503 } from './phone-off.ts';
import { CALLS_ANSWERS, CALLS_PROBLEMS, callsAnswer } from './placed-calls.ts';
import { alertTypeName, MAX_RECIPIENTS_BYTES, recipientList } from './recipients.ts';
import { flag } from './request-values.ts';
import { jsonBody } from './route/body.ts';
import { parameter } from './route/fields.ts';
import { post, type Route } from './route/route.ts';

/**
 * `POST /api/test-call`, **debug builds only**: the body is a JSON array of phone numbers; calls them as an alert of the type
 * `alert_type` (default `Custom`) would, and answers as `POST /api/notifications` does.
 * Its limits are the same. The events of its calls go to `callbackBaseUrl`, if that is given.
 *
 * Everything is declared inside the function: a call outside it would keep this module in a release bundle.
 */
export const testCall = (
  phone: Phone<Pick<CallsPhone, 'send'> & { readonly callbackBaseUrl: string | undefined }>,
): Route =>
  post('TestCall', 'test-call', {
    authLevel: 'function',
    operationId: 'placeTestCall',
    tag: 'calls',
    summary: 'Place test calls (debug builds only)',
    query: z.object({
      alert_type: parameter(
        alertTypeName.default('Custom'),
        'The alert type. It selects the spoken phrase.',
        'BurnJob',
      ),
      confirm: parameter(flag(false), 'Whether the callee has to press a key.', 'true'),
    }),
    body: jsonBody(recipientList.meta({ id: 'RecipientList' }), {
      maxBytes: MAX_RECIPIENTS_BYTES,
      examples: { one: ['+12065550100'] },
      element: 'recipient',
    }),
    answers: CALLS_ANSWERS,
    problems: CALLS_PROBLEMS,
    handle: async ({ query, body, log }) => {
      const { send, callbackBaseUrl } = phoneOr503(phone);
      const { confirm } = query;
      const request = { alertType: alertTypeOf(query.alert_type), waves: body, confirm, callbackBaseUrl };
      return callsAnswer(await send(request, undefined, log));
    },
  });
