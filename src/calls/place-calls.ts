import { randomUUID } from 'node:crypto';

import pLimit from 'p-limit';

import type { Log } from '../log.ts';
import type { AlertType } from './alert-types.ts';
import type { CallFlow } from './call-flow.ts';
import type { CallId } from './call-id.ts';
import { failureFields } from './call-log.ts';
import { type PhoneLine, PhoneLineError } from './phone-line.ts';
import { maskPhoneNumber, type PhoneNumber } from './phone-number.ts';
import type { CallRequests } from './store/call-requests.ts';

/** The outcome of a request to call one number. */
export type CallOutcome =
  | { readonly status: 'placed'; readonly callId: CallId }
  /** `reason` is in words, safe to answer. */
  | { readonly status: 'failed'; readonly reason: string };

/** What placing calls needs. */
export interface CallPlacerParts {
  readonly line: PhoneLine;
  readonly flow: CallFlow;
  readonly requests: CallRequests;
}

/** Places the calls of one alert. */
export type PlaceCalls = (
  alertType: AlertType,
  recipients: readonly PhoneNumber[],
  log: Log,
) => Promise<readonly CallOutcome[]>;

// 50 recipients, the most there may be, take two rounds. Both fit into WITHIN_MS even if the line answers none of the requests.
const CALLS_AT_A_TIME = 25;
// Azure ends a request after 230 s, and most callers sooner. Includes all waiting for a throttled line.
const WITHIN_MS = 45_000;

/**
 * Calls every recipient. The outcomes are in the order of the recipients; a failed call does not stop the others.
 *
 * @example const outcomes = await createCallPlacer({ line, flow, requests })(alertType, recipients, log);
 */
export const createCallPlacer =
  ({ line, flow, requests }: CallPlacerParts): PlaceCalls =>
  async (alertType, recipients, log) => {
    const end = performance.now() + WITHIN_MS;
    const place = async (number: PhoneNumber): Promise<CallOutcome> => {
      const context = { requestId: randomUUID(), recipient: maskPhoneNumber(number) };
      const fields = { request_id: context.requestId, alert_type: alertType.name, recipient: context.recipient };
      const request = requests.begin(context, alertType.name, log);
      log.info('call requested', fields);
      try {
        const left = end - performance.now();
        if (left <= 0) throw new PhoneLineError('refused', 'no time left');
        const callId = await line.call(number, alertType, context, left);
        log.info('call placed', { call_id: callId, ...fields });
        const details = { alertType: alertType.name, ...context };
        await Promise.all([flow.placed(callId, alertType, details, log), request.placed(callId)]);
        return { status: 'placed', callId };
      } catch (error) {
        const failure = error instanceof PhoneLineError ? error : new PhoneLineError('unanswered', 'unexpected error');
        log.error('call not placed', { ...fields, ...failureFields(error) });
        await request.failed(failure);
        return { status: 'failed', reason: failure.reason };
      }
    };
    return pLimit(CALLS_AT_A_TIME).map(recipients, place);
  };
