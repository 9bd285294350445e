import type { HttpHandler } from '@azure/functions';
import * as z from 'zod';

import { findAlertType } from '../calls/alert-types.ts';
import type { PlaceCalls } from '../calls/place-calls.ts';
import { invocationLog } from '../log.ts';
import { readJson } from './body.ts';
import { alertTypeSchema } from './notifications.ts';
import { answering } from './problem.ts';
import { readQuery } from './query.ts';
import { badBody, callsAnswer, MAX_RECIPIENTS_BODY_BYTES, recipientsSchema } from './recipients.ts';

// Pure to the bundler: nothing of this module may stay in a release bundle, where nobody uses it.
/** The query of `POST /api/test-call`. */
export const testCallQuery = /* @__PURE__ */ (() =>
  z.strictObject({ alert_type: /* @__PURE__ */ alertTypeSchema.default('Custom') }))();

/**
 * `POST /api/test-call`, **debug builds only**: the body is a JSON array of phone numbers; calls them as an alert of the type
 * `alert_type` (default `Custom`) would, and answers as `POST /api/notifications` does.
 */
export const testCallHandler = (placeCalls: PlaceCalls): HttpHandler =>
  answering(async (request, context) => {
    const alertType = findAlertType(readQuery(request, testCallQuery).alert_type);
    if (alertType === undefined) throw new TypeError('an alert type without a row');
    const recipients = recipientsSchema.safeParse(await readJson(request, MAX_RECIPIENTS_BODY_BYTES));
    if (!recipients.success) throw badBody(recipients.error);
    return callsAnswer(recipients.data, await placeCalls(alertType, recipients.data, invocationLog(context)));
  });
