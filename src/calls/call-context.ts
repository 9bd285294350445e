import { isMaskedNumber, type MaskedNumber } from './phone-number.ts';

/**
 * What the line is given with a call and returns with its events. For logs and new records only, where an event comes before the answer
 * to the request that placed the call, or the call's record cannot be read. Anyone may have written it: nothing is decided by it.
 */
export interface CallContext {
  /** This service's own id of the request to place the call. */
  readonly requestId: string;
  readonly recipient: MaskedNumber;
}

const REQUEST_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** @example formatCallContext({ requestId, recipient }) // '3f0c…e1 +*******0100' */
export const formatCallContext = ({ requestId, recipient }: CallContext): string => `${requestId} ${recipient}`;

/** An event's context; undefined where it is missing or in another form, which must not get into the logs. */
export const parseCallContext = (text: unknown): CallContext | undefined => {
  if (typeof text !== 'string') return undefined;
  const [requestId = '', recipient, ...more] = text.split(' ', 3);
  return REQUEST_ID.test(requestId) && isMaskedNumber(recipient) && more.length === 0
    ? { requestId, recipient }
    : undefined;
};
