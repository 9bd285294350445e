import pLimit from 'p-limit';
import { alertTypeOf } from '../model/alert-types.ts';
import { type AttemptRef, type CallId, MESSAGE, type SpeechNumber } from '../model/ids.ts';
import { type CallMessage, type CallResult, PhoneLineError } from '../model/phone-line.ts';
import { isMaskedNumber, type PhoneNumber } from '../model/phone-number.ts';
import { callMessage, spokenText } from '../rules/message.ts';
import { attemptFields, logNotPlayed, resultFields, secondsToCall } from './call-log.ts';
import type { Context } from './cases.ts';
import { type Attempt, type AttemptEvent, talkOf } from '../state/attempt.ts';
import { attemptIn, type NotificationCase } from '../state/notification.ts';
import type { Log } from '../../log.ts';

const HUNG_UP_AT_A_TIME = 16;

/** Requests to the line, with what they write to the log. The answer is the next event of the attempt. */
export class LineRequests {
  readonly #context: Context;
  readonly #hangingUp = pLimit(HUNG_UP_AT_A_TIME);

  constructor(context: Context) {
    this.#context = context;
  }

  /** Places the call of an attempt. @returns undefined if there is nobody to call */
  async dial(ref: AttemptRef, known: NotificationCase, log: Log): Promise<AttemptEvent | undefined> {
    const { line, clock } = this.#context;
    const { alertType: name, callbackBaseUrl } = known.notification;
    const attempt = attemptIn(known, ref);
    const number = wholeNumberOf(known, ref);
    if (attempt === undefined || number === undefined) return undefined;
    const fields = attemptFields(known, ref);
    log.info('call requested', fields);
    const alertType = alertTypeOf(name);
    const message = this.messageOf(known);
    try {
      const firstSentAt = attempt.claimedAt;
      const callId = await line.call({ number, alertType, message, attempt: ref, firstSentAt, callbackBaseUrl });
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

  /** The calls to an attempt's number since it was claimed, oldest first. @returns undefined if the line cannot tell now */
  async find(ref: AttemptRef, known: NotificationCase, log: Log): Promise<readonly CallId[] | undefined> {
    const attempt = attemptIn(known, ref);
    const number = wholeNumberOf(known, ref);
    if (attempt === undefined || number === undefined) return undefined;
    try {
      return await this.#context.line.find?.(number, attempt.claimedAt);
    } catch (error) {
      log.warn('call not looked for', { ...attemptFields(known, ref), ...resultFields(resultOf(error)) });
      return undefined;
    }
  }

  /** Speaks what an attempt has to say now. @returns undefined if there is no call */
  async speak(ref: AttemptRef, known: NotificationCase, log: Log): Promise<AttemptEvent | undefined> {
    const { line } = this.#context;
    const attempt = attemptIn(known, ref);
    const callId = attempt?.callIds.at(-1);
    const talk = attempt && talkOf(attempt);
    if (callId === undefined || talk === undefined) return undefined;
    const { number: speech } = talk.speech;
    const fields = { ...attemptFields(known, ref), ...(speech === MESSAGE ? {} : { speech: SPEECH_NAMES[speech] }) };
    const text = spokenText(speech, this.messageOf(known));
    try {
      await line.media?.speak(callId, text, { ...ref, speech });
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

  /** Listens for keys, if they are asked for. Never throws: if none can be heard, the call goes on, unconfirmed. */
  async listen(ref: AttemptRef, known: NotificationCase, log: Log): Promise<void> {
    const { notification } = known;
    const callId = attemptIn(known, ref)?.callIds.at(-1);
    const number = wholeNumberOf(known, ref);
    if (!notification.confirm || callId === undefined || number === undefined) return;
    try {
      await this.#context.line.media?.listen(callId, number, ref);
    } catch (error) {
      log.warn('keys not heard', { ...attemptFields(known, ref), ...resultFields(resultOf(error)) });
    }
  }

  /** Hangs up all calls of an attempt. @returns whether that was done */
  async hangUp(ref: AttemptRef, known: NotificationCase, log: Log): Promise<boolean> {
    const attempt = attemptIn(known, ref);
    if (attempt === undefined) return true;
    const fields = attemptFields(known, ref);
    const done = await Promise.all(
      attempt.callIds.map(async (callId) => this.#hangUpOne(callId, attempt, fields, log)),
    );
    return done.every(Boolean);
  }

  async #hangUpOne(callId: CallId, attempt: Attempt, fields: object, log: Log): Promise<boolean> {
    try {
      await this.#hangingUp(async () => this.#context.line.hangUp(callId, talkOf(attempt) !== undefined));
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

/** In logs. */
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

/** What a line threw. An error that is not the line's own says nothing of what was done. */
export const resultOf = (error: unknown): CallResult =>
  error instanceof PhoneLineError ? error.result : { failure: 'unanswered', reason: 'unexpected error' };
