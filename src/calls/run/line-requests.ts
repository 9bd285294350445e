import pLimit from 'p-limit';
import { alertTypeOf } from '../model/alert-types.ts';
import { type AttemptRef, type CallId, MESSAGE, type SpeechNumber } from '../model/ids.ts';
import { type CallMessage, type CallResult, PhoneLineError } from '../model/phone-line.ts';
import { isMaskedNumber, type PhoneNumber } from '../model/phone-number.ts';
import { callMessage, spokenText } from '../rules/message.ts';
import { attemptFields, logNotPlayed, resultFields, secondsToCall } from './call-log.ts';
import type { Context } from './cases.ts';
import { type AttemptEvent, talkOf } from '../state/attempt.ts';
import { attemptIn, type NotificationCase } from '../state/notification.ts';
import type { Log, LogFields } from '../../log.ts';

const HUNG_UP_AT_A_TIME = 16;

/** Requests to the line, and their log lines. The answer is the next event of the attempt. */
export class LineRequests {
  readonly #context: Context;
  readonly #hangingUp = pLimit(HUNG_UP_AT_A_TIME);

  constructor(context: Context) {
    this.#context = context;
  }

  /** Places the call of an attempt. @returns undefined if its number is masked */
  async dial(ref: AttemptRef, known: NotificationCase, log: Log): Promise<AttemptEvent | undefined> {
    const { line, clock } = this.#context;
    const { alertType, callbackBaseUrl } = known.notification;
    const firstSentAt = attemptIn(known, ref)?.claimedAt;
    const number = wholeNumberOf(known, ref);
    if (firstSentAt === undefined || number === undefined) return undefined;
    const fields = attemptFields(known, ref);
    log.info('call requested', fields);
    const about = { alertType: alertTypeOf(alertType), message: this.messageOf(known), attempt: ref, callbackBaseUrl };
    try {
      const callId = await line.call({ ...about, number, firstSentAt });
      log.info('call placed', { ...fields, call_id: callId, ...secondsToCall(known, clock.now()) });
      return { kind: 'placed', callId };
    } catch (error) {
      const result = resultOf(error);
      const told = { ...fields, ...resultFields(result) };
      if (result.failure === 'capacity') log.warn('no line free', told);
      else if (result.failure === 'forbidden') log.error('call forbidden', told);
      else log.error('call not placed', told);
      return { kind: 'not placed', result };
    }
  }

  /** After a call request without an answer: searches the line's list. @returns undefined if the line cannot tell now */
  async find(ref: AttemptRef, known: NotificationCase, log: Log): Promise<AttemptEvent | undefined> {
    const { line, store, clock } = this.#context;
    const claimedAt = attemptIn(known, ref)?.claimedAt;
    const number = wholeNumberOf(known, ref);
    if (claimedAt === undefined || number === undefined) return undefined;
    const fields = attemptFields(known, ref);
    let found: readonly CallId[] = [];
    try {
      found = (await line.find?.(number, claimedAt)) ?? [];
    } catch (error) {
      log.warn('call not looked for', { ...fields, ...resultFields(resultOf(error)) });
      return undefined;
    }
    // A call of another attempt to the same number does not count.
    const { live } = found.length === 0 ? { live: [] } : await store.look(clock.now());
    const others = new Set(live.flatMap(callIdsOf));
    const callId = found.find((one) => !others.has(one));
    log.warn(callId === undefined ? 'no call found' : 'call found', { ...fields, call_id: callId });
    return callId === undefined ? { kind: 'not found' } : { kind: 'placed', callId };
  }

  /** Speaks the current speech of an attempt. @returns undefined if there is no call */
  async speak(ref: AttemptRef, known: NotificationCase, log: Log): Promise<AttemptEvent | undefined> {
    const attempt = attemptIn(known, ref);
    const callId = attempt?.callIds.at(-1);
    const speech = attempt && talkOf(attempt)?.speech.number;
    if (callId === undefined || speech === undefined) return undefined;
    const fields = { ...attemptFields(known, ref), ...(speech === MESSAGE ? {} : { speech: SPEECH_NAMES[speech] }) };
    try {
      await this.#context.line.media?.speak(callId, spokenText(speech, this.messageOf(known)), { ...ref, speech });
      log.info('message playing', fields);
      return { kind: 'speech accepted', speech };
    } catch (error) {
      const result = resultOf(error);
      const isSure = result.failure !== 'gone' && result.failure !== 'unanswered';
      if (isSure) logNotPlayed(result, fields, log);
      else log.warn('message perhaps not played', { ...fields, ...resultFields(result) });
      return { kind: 'not spoken', speech, result: { ...result, reason: `message not played: ${result.reason}` } };
    }
  }

  /** Listens for keys if the message asks for them. Never throws: if that fails, the call continues, unconfirmed. */
  async listen(ref: AttemptRef, known: NotificationCase, log: Log): Promise<void> {
    const callId = attemptIn(known, ref)?.callIds.at(-1);
    const number = wholeNumberOf(known, ref);
    if (!known.notification.confirm || callId === undefined || number === undefined) return;
    try {
      await this.#context.line.media?.listen(callId, number, ref);
    } catch (error) {
      log.warn('keys not heard', { ...attemptFields(known, ref), ...resultFields(resultOf(error)) });
    }
  }

  /** Hangs up all calls of an attempt. @returns undefined if a hang-up failed: the next check tries again */
  async hangUp(ref: AttemptRef, known: NotificationCase, log: Log): Promise<AttemptEvent | undefined> {
    const attempt = attemptIn(known, ref);
    const isAnswered = attempt !== undefined && talkOf(attempt) !== undefined;
    const fields = attemptFields(known, ref);
    const calls = attempt?.callIds ?? [];
    const done = await Promise.all(calls.map(async (callId) => this.hangUpCall(callId, isAnswered, fields, log)));
    return done.every(Boolean) ? { kind: 'hung up' } : undefined;
  }

  /** Hangs up a call. Never throws. @returns whether that succeeded */
  async hangUpCall(callId: CallId, isAnswered: boolean, fields: LogFields, log: Log): Promise<boolean> {
    try {
      await this.#hangingUp(async () => this.#context.line.hangUp(callId, isAnswered));
      log.info('call hung up', { ...fields, call_id: callId });
      return true;
    } catch (error) {
      log.error('hang-up failed', { ...fields, call_id: callId, ...resultFields(resultOf(error)) });
      return false;
    }
  }

  /** What the calls of a notification say. */
  messageOf({ notification }: NotificationCase): CallMessage {
    return callMessage(this.#context.policy.serviceName, alertTypeOf(notification.alertType), notification);
  }
}

const callIdsOf = ({ recipients }: NotificationCase) =>
  recipients.flatMap(({ attempts }) => attempts.flatMap(({ callIds }) => callIds));

/** The names of speeches in the log. */
const SPEECH_NAMES: Readonly<Record<Exclude<SpeechNumber, typeof MESSAGE>, string>> = {
  1: 'repeat',
  2: 'second repeat',
  8: 'cannot go',
  9: 'confirmed',
};

const wholeNumberOf = ({ recipients }: NotificationCase, { index }: AttemptRef): PhoneNumber | undefined => {
  const number = recipients[index]?.number;
  return number === undefined || isMaskedNumber(number) ? undefined : number;
};

/** The result of a failed request. After an error of another class, the request may have been done. */
export const resultOf = (error: unknown): CallResult =>
  error instanceof PhoneLineError ? error.result : { failure: 'unanswered', reason: 'unexpected error' };
