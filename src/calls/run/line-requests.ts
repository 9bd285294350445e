import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';

import type { Log, LogFields } from '../../log.ts';
import { type AlertType, alertTypeOf } from '../model/alert-types.ts';
import type { AttemptRef } from '../model/call-context.ts';
import type { CallEvent, CallResult, ResultMeaning } from '../model/call-event.ts';
import type { CallId } from '../model/ids.ts';
import type { Clock } from '../model/clock.ts';
import { type PhoneLine, PhoneLineError, type PhoneLineFailure } from '../model/phone-line.ts';
import { isMaskedNumber } from '../model/phone-number.ts';
import { isMessage, MESSAGE, type SpeechNumber } from '../model/speech.ts';
import { KEYS_AFTER_MS } from '../rules/keys.ts';
import { spokenMessage, spokenText } from '../rules/message.ts';
import { answerBy, type AttemptEvent, type NotPlaced, speechNow } from '../state/attempt.ts';
import { attemptIn, type NotificationCase } from '../state/notification.ts';
import { attemptFields, failureFields, logNotPlayed, secondsToCall } from './call-log.ts';

/** What a process has said last in a call, and whether keys were asked for. */
interface Spoken {
  readonly speech: SpeechNumber;
  readonly confirm: boolean;
}

/** Who is asked to call, speak, listen and hang up. */
export interface LineRequestsParts {
  readonly line: PhoneLine;
  /** Spoken in the message. */
  readonly serviceName: string;
  readonly clock: Clock;
  /** For what happens outside any request. */
  readonly log: Log;
}

// Of the calls of the last hours; each is a text of 40 characters.
const MOST_SPOKEN_TO = 10_000;
const HUNG_UP_AT_A_TIME = 16;

/** Requests to the line, with what they write to the log. The answer is the next event of the attempt. */
export class LineRequests {
  readonly #parts: LineRequestsParts;
  /** Whom this process has spoken to, and what it said last: without the table nobody else can tell. */
  readonly #spokenTo = new LRUCache<CallId, Spoken>({ max: MOST_SPOKEN_TO });
  readonly #hangingUp = pLimit(HUNG_UP_AT_A_TIME);

  constructor(parts: LineRequestsParts) {
    this.#parts = parts;
  }

  /** Places the call of an attempt. @returns undefined if there is nobody to call */
  async dial(ref: AttemptRef, known: NotificationCase, log: Log): Promise<AttemptEvent | undefined> {
    const { line, clock } = this.#parts;
    const { alertType: name, callbackBaseUrl } = known.notification;
    const attempt = attemptIn(known, ref);
    const number = known.recipients[ref.index]?.number;
    if (attempt === undefined || number === undefined || isMaskedNumber(number)) return;
    const fields = attemptFields(known, ref);
    log.info('call requested', fields);
    try {
      const alertType = alertTypeOf(name);
      const firstSentAt = attempt.claimedAt;
      const callId = await line.call({ number, alertType, attempt: ref, firstSentAt, callbackBaseUrl });
      log.info('call placed', { ...fields, call_id: callId, ...secondsToCall(known, clock.now()) });
      return { kind: 'placed', callId };
    } catch (error) {
      const failure = failureOf(error);
      const why = NOT_PLACED[failure];
      const told = { ...fields, ...failureFields(error) };
      if (why === 'no_line') log.warn('no line free', told);
      else if (failure === 'forbidden') log.warn('call refused', told);
      else log.error('call not placed', told);
      return { kind: 'not placed', why, result: resultOf(error) };
    }
  }

  /** The calls to an attempt's number since it was claimed. @returns undefined if nobody can tell: whoever looks next asks again, and nothing is sent before */
  async find(ref: AttemptRef, known: NotificationCase, log: Log): Promise<readonly CallId[] | undefined> {
    const { line } = this.#parts;
    const attempt = attemptIn(known, ref);
    const number = known.recipients[ref.index]?.number;
    if (attempt === undefined || number === undefined || isMaskedNumber(number)) return undefined;
    try {
      return await line.find?.(number, attempt.claimedAt);
    } catch (error) {
      log.warn('call not looked for', { ...attemptFields(known, ref), ...failureFields(error) });
      return undefined;
    }
  }

  /** Speaks what an attempt has to say now. @returns undefined if there is no call */
  async speak(ref: AttemptRef, known: NotificationCase, log: Log): Promise<AttemptEvent | undefined> {
    const { line, serviceName } = this.#parts;
    const { notification, recipients } = known;
    const attempt = attemptIn(known, ref);
    if (attempt?.callId === undefined) return;
    const { callId } = attempt;
    const speech = speechNow(attempt);
    this.#spokenTo.set(callId, { speech, confirm: notification.confirm === true });
    const fields = { ...attemptFields(known, ref), ...(speech === MESSAGE ? {} : { speech: SPEECH_NAMES[speech] }) };
    const context = recipients[ref.index]?.number === undefined ? undefined : { ...ref, speech };
    const text = spokenText(speech, spokenMessage(serviceName, alertTypeOf(notification.alertType), notification));
    const hasKeys = notification.confirm === true && answerBy(attempt) !== 'confirmed';
    try {
      const isStarted = (await line.speak(callId, text, context, hasKeys)) === 'started';
      log.info('message playing', fields);
      return { kind: 'speech accepted', speech, isStarted };
    } catch (error) {
      const failure = failureOf(error);
      const why = failure === 'gone' ? 'gone' : failure === 'unanswered' ? 'unclear' : 'failed';
      const result = resultOf(error);
      // What a key asked for may fail: the key counts, and the message was spoken.
      if (why === 'failed' && (speech === MESSAGE || failure === 'no speech')) logNotPlayed(result, fields, log);
      else log.warn('message perhaps not played', { ...fields, ...failureFields(error) });
      return { kind: 'not spoken', why, speech, result: { ...result, reason: `message not played: ${result.reason}` } };
    }
  }

  /** Listens for keys, where they are asked for. Never throws: if none can be heard, the call goes on, unconfirmed. */
  async listen(
    ref: AttemptRef,
    { notification, recipients }: NotificationCase,
    callId: CallId,
    log: Log,
  ): Promise<void> {
    const number = recipients[ref.index]?.number;
    if (notification.confirm !== true || number === undefined || isMaskedNumber(number)) return;
    try {
      await this.#parts.line.listen(callId, number, ref);
    } catch (error) {
      log.warn('keys not heard', { call_id: callId, notification_id: notification.id, ...failureFields(error) });
    }
  }

  /** Nothing is spoken any more, and keys are waited for: some lines must be told. */
  async waitForKeys(callId: CallId): Promise<void> {
    await this.#parts.line.waitForKeys?.(callId);
  }

  /** Hangs up. @returns whether that was done */
  async hangUp(callId: CallId, fields: LogFields, log: Log): Promise<boolean> {
    try {
      await this.#hangingUp(async () => this.#parts.line.hangUp(callId));
      log.info('call hung up', fields);
      return true;
    } catch (error) {
      log.error('hang-up failed', { ...fields, ...failureFields(error) });
      return false;
    }
  }

  /**
   * Without the table: speaks when somebody answers, once a call in this process, and hangs up when the message is over.
   *
   * @param known what this process remembers of the notification
   * @returns whether somebody is spoken to now, or may be on the line: it has to be looked after
   */
  async withoutTable(
    {
      kind,
      callId,
      attempt,
      speech = MESSAGE,
      isAwaiting,
    }: Pick<CallEvent, 'callId' | 'attempt' | 'speech' | 'isAwaiting'> & { kind: string },
    known: NotificationCase | undefined,
    pathType: AlertType,
    log: Log,
  ): Promise<boolean> {
    const { line, serviceName, clock, log: ownLog } = this.#parts;
    const fields = { call_id: callId, alert_type: pathType.name };
    const spoken = this.#spokenTo.peek(callId);
    // A line that waits for what comes next has to be told again.
    const isToBeTold = isAwaiting === true && (kind === 'connected' || kind === 'tone received');
    if (isToBeTold || (kind === 'connected' && spoken === undefined)) {
      const hasKeys = known?.notification.confirm === true;
      this.#spokenTo.set(callId, { speech, confirm: hasKeys });
      const alertType = known === undefined ? pathType : alertTypeOf(known.notification.alertType);
      try {
        const text = spokenMessage(serviceName, alertType, known?.notification);
        const speaking = line.speak(callId, text, attempt && { ...attempt, speech }, hasKeys);
        if (attempt !== undefined && known !== undefined) void this.listen(attempt, known, callId, log);
        await speaking;
        log.info('message playing', fields);
        return true;
      } catch (error) {
        // It may be speaking all the same.
        if (failureOf(error, 'rejected') === 'unanswered') return true;
        logNotPlayed(resultOf(error), fields, log);
        return !(await this.hangUp(callId, fields, log));
      }
    } else if (kind === 'play completed' || kind === 'play failed') {
      // One that was cancelled says nothing of the line: another instance may speak by now, or the callee has left.
      // The end of an earlier speech was brought about by the next one.
      if (spoken !== undefined && speech < spoken.speech) return false;
      if (kind !== 'play completed' || !isMessage(speech) || spoken?.confirm !== true) {
        await this.hangUp(callId, fields, log);
        return false;
      }
      void this.waitForKeys(callId);
      clock.after(KEYS_AFTER_MS, () => {
        if (this.#spokenTo.peek(callId) === spoken) void this.hangUp(callId, fields, ownLog);
      });
    }
    return false;
  }
}

/** In logs. */
const SPEECH_NAMES = { 1: 'repeat', 2: 'second repeat', 8: 'cannot go', 9: 'confirmed' } as const;

const failureOf = (error: unknown, otherwise: PhoneLineFailure = 'unanswered'): PhoneLineFailure =>
  error instanceof PhoneLineError ? error.failure : otherwise;

const resultOf = (error: unknown): CallResult =>
  error instanceof PhoneLineError
    ? {
        code: error.code,
        subCode: error.subCode,
        reason: error.reason,
        waitMs: error.waitMs,
        isUnreachable: error.failure === 'not sent',
        meaning: MEANING_OF_FAILURE.get(error.failure),
        lookAt: error.lookAt,
      }
    : { reason: 'unexpected error' };

const MEANING_OF_FAILURE: ReadonlyMap<PhoneLineFailure, ResultMeaning> = new Map([
  ['forbidden', 'forbidden'],
  ['no speech', 'no_speech'],
]);

const NOT_PLACED: Readonly<Record<PhoneLineFailure, NotPlaced>> = {
  throttled: 'no_line',
  'not sent': 'no_line',
  'set-up': 'set_up',
  forbidden: 'failed',
  'no speech': 'set_up',
  rejected: 'failed',
  refused: 'refused',
  gone: 'refused',
  unanswered: 'unclear',
};
