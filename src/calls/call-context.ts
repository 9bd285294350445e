import { type MaskedNumber, parseMaskedNumber } from './phone-number.ts';

/**
 * What a call carries to ACS and back in its `operationContext`, so that a callback can be told apart in the logs even when it
 * comes before the answer to the request that placed the call, or while the call records cannot be reached. Nothing is decided
 * by it: a call is known by its id alone.
 */
export interface CallContext {
  /** Our own id of the request to place this call. */
  readonly requestId: string;
  readonly recipient: MaskedNumber;
}

const REQUEST_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** @example formatCallContext({ requestId, recipient }) // '3f0c…e1 +*******0100' */
export const formatCallContext = ({ requestId, recipient }: CallContext): string => `${requestId} ${recipient}`;

/** The context in an event; undefined where it is missing or not of our making (it comes from outside and goes to the logs). */
export const parseCallContext = (text: unknown): CallContext | undefined => {
  if (typeof text !== 'string') return undefined;
  const [requestId = '', number = '', ...more] = text.split(' ', 3);
  const recipient = parseMaskedNumber(number);
  return REQUEST_ID.test(requestId) && recipient !== undefined && more.length === 0
    ? { requestId, recipient }
    : undefined;
};
