import pLimit from 'p-limit';

import type { Log, LogFields } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { type AlertType, type AlertTypeName, findAlertType } from '../model/alert-types.ts';
import type { AttemptRef } from '../model/call-context.ts';
import type { CallEvent, CallResult, ResultMeaning } from '../model/call-event.ts';
import type { CallId } from '../model/call-id.ts';
import { type Clock, sleepBy } from '../model/clock.ts';
import type { NotificationId } from '../model/notification-id.ts';
import { type PhoneLine, PhoneLineError, type PhoneLineFailure } from '../model/phone-line.ts';
import { hashOfNumber, isMaskedNumber } from '../model/phone-number.ts';
import { isMessage, MESSAGE, type SpeechNumber } from '../model/speech.ts';
import { answerOfKey, KEYS_AFTER_MS } from '../rules/keys.ts';
import { spokenMessage, spokenText } from '../rules/message.ts';
import { type Attempt, type AttemptEvent, type NotPlaced, speechNow } from '../state/attempt.ts';
import { newStranger, strangerRef } from '../state/foreign-call.ts';
import { attemptIn, type NotificationCase } from '../state/notification.ts';
import { type Policy, step } from '../state/step.ts';
import type { RecipientRef, StoredCase } from '../store/case-rows.ts';
import type { NotificationStore } from '../store/notification-store.ts';
import type { OpenRow } from '../store/snapshot.ts';
import { attemptFields, errorKind, failureFields, secondsToCall } from './call-log.ts';
import type { Cases, Done } from './cases.ts';

/** With what the driver talks to the line. */
export interface DriverParts {
  readonly line: PhoneLine;
  readonly cases: Cases;
  readonly store: NotificationStore;
  readonly policy: Policy;
  readonly clock: Clock;
  /** For what happens outside any request. */
  readonly log: Log;
}

/** What a process has said last in a call. */
interface Spoken {
  readonly speech: SpeechNumber;
  /** Whether keys were asked for. */
  readonly confirm: boolean;
}

/** An event that moves an attempt. */
type AttemptReport = Omit<CallEvent, 'kind'> & {
  readonly kind: Exclude<CallEvent['kind'], 'tone failed'> | 'spoken to';
};

const isAboutAttempt = (event: CallEvent): event is CallEvent & AttemptReport => event.kind !== 'tone failed';

/** What attending to something due has come to: the notification if nothing was to be done. */
export type Attended = StoredCase | 'moved' | 'unknown';

// Of the calls of the last hours; each is a text of 40 characters.
const MOST_SPOKEN_TO = 10_000;
const MOST_KEPT = 10_000;
const KEPT_RETRY_MS = 2_000;
const HUNG_UP_AT_A_TIME = 16;
// Timers fire a moment early.
const TIMER_MS = 50;
// Whoever stops a notification is answered then, though some hang-ups may not be.
const STOPPED_WITHIN_MS = 5_000;

/**
 * From what happens to requests to the line. Of each event it is asked what follows, that is written in one transaction, and only then it dials,
 * speaks or hangs up; the answer is the next event.
 */
export class Driver {
  readonly #parts: DriverParts;
  /** Whom this process has spoken to, and what it said last: without the table nobody else can tell. */
  readonly #spokenTo = new Map<CallId, Spoken>();
  /** Keys and ends of messages that were reported while the table was away. */
  readonly #kept: { readonly event: AttemptReport; readonly alertType: AlertTypeName }[] = [];
  #writing: Promise<void> | undefined;
  readonly #hangingUp = pLimit(HUNG_UP_AT_A_TIME);

  constructor(parts: DriverParts) {
    this.#parts = parts;
  }

  /** What the line reports. Without the table: speak when somebody answers, hang up when the message is over, and keep what somebody has heard. */
  async handle(event: CallEvent, alertType: AlertType, log: Log): Promise<void> {
    if (!isAboutAttempt(event)) {
      // What was heard until then counts; the call goes on.
      const { code, subCode, reason } = event.result;
      log.warn('keys not heard', { call_id: event.callId, code, sub_code: subCode, reason });
      return;
    }
    // A step that fails forgets what was remembered.
    const known = event.attempt && this.#parts.cases.recall(event.attempt.notificationId);
    try {
      await this.#take(event, alertType.name, log);
    } catch (error) {
      const kind = error instanceof StorageTrouble ? error.reason : errorKind(error);
      log.warn('call records unreachable', { call_id: event.callId, event_kind: event.kind, kind });
      this.noteTrouble();
      if (isKept(event)) this.#keep(event, alertType.name);
      await this.#withoutTable(event, known, alertType, log);
    }
  }

  /** The table cannot be used now: others may speak meanwhile, and not be able to write it down. */
  noteTrouble(): void {
    this.#parts.cases.troubleAt = this.#parts.clock.now();
  }

  /** Writes down what was kept while the table was away. Until that is done, this instance may call somebody who has heard. @throws {StorageTrouble} */
  async writeKept(log: Log): Promise<void> {
    this.#writing ??= this.#writeAll(log).finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #writeAll(log: Log): Promise<void> {
    for (let [kept] = this.#kept; kept !== undefined; [kept] = this.#kept) {
      try {
        await this.#take(kept.event, kept.alertType, log);
      } catch (error) {
        if (error instanceof StorageTrouble) throw error;
        // Its rows cannot be read, or it is a bug: no reason to keep others waiting.
        log.warn('call records unreachable', {
          call_id: kept.event.callId,
          event_kind: kept.event.kind,
          kind: errorKind(error),
        });
      }
      this.#kept.shift();
    }
  }

  /** Looks after a recipient of whose call nothing was heard, or who is not to ring any more. */
  async look({ notificationId, index }: RecipientRef, log: Log): Promise<Attended> {
    const done = await this.#parts.cases.take(notificationId, { index }, { kind: 'look' }, log);
    if (done === undefined) return 'unknown';
    logLook(done, { notificationId, index }, log);
    return this.#attended(done, log);
  }

  /** Looks at a notification as a whole. @param open the open calls: they may keep its people's phones busy */
  async lookAtNotification(id: NotificationId, open: readonly OpenRow[], log: Log): Promise<Attended> {
    const { cases, store, clock } = this.#parts;
    const stored = await store.load(id);
    if (stored === undefined) return 'unknown';
    const now = clock.now();
    // Of a version before: the claims of its first calls.
    const covered = stored.recipients.flatMap(({ isCovered, dueAt = 0 }, index) =>
      isCovered === true && dueAt <= now ? index : [],
    );
    await Promise.all(covered.map(async (index) => this.look({ notificationId: id, index }, log)));
    const done = await cases.take(id, undefined, { kind: 'look at notification' }, log);
    if (done === undefined) return 'unknown';
    if (done.stored.notification.silentAt !== stored.notification.silentAt) logSilence(done.stored, open, log);
    return this.#attended(done, log);
  }

  /** Stops a notification, and hangs up who rings. Answers it as it stands then; undefined if there is none. */
  async stop(id: NotificationId, log: Log): Promise<NotificationCase | undefined> {
    const { cases, clock } = this.#parts;
    const done = await cases.take(id, undefined, { kind: 'stop' }, log);
    if (done === undefined) return undefined;
    await Promise.race([this.carryOut(done, log), sleepBy(clock, STOPPED_WITHIN_MS)]);
    return cases.recall(id) ?? done.stored;
  }

  /** Checks a call that has been open for longer than any call is: the row of its number may be left over. */
  async checkOpen(row: OpenRow): Promise<void> {
    const { store } = this.#parts;
    const { attempt } = row;
    const stored = attempt && (await store.loadReadable(attempt.notificationId));
    if (stored && attemptIn(stored, attempt)?.holdsNumber === true) return;
    await store.dropOpen(row, stored);
  }

  async #attended(done: Done, log: Log): Promise<Attended> {
    await this.carryOut(done, log);
    return done.isChanged ? 'moved' : done.stored;
  }

  /** What an event asks for: of its attempt or, if nobody knows that, of the call itself. */
  async #take(event: AttemptReport, alertType: AlertTypeName, log: Log): Promise<void> {
    const { attempt: ref, callId } = event;
    const known = ref && (await this.#parts.cases.take(ref.notificationId, ref, event, log));
    const stranger = strangerRef(callId);
    const isOwn = ref !== undefined && known !== undefined && known.isUnknown !== true;
    const done = isOwn ? known : await this.#takeStranger(event, stranger, alertType, log);
    if (done === undefined) return;
    logEvent(event, done, isOwn ? ref : stranger, log);
    await this.carryOut(done, log);
  }

  async #takeStranger(
    event: AttemptReport,
    ref: AttemptRef,
    alertType: AlertTypeName,
    log: Log,
  ): Promise<Done | undefined> {
    const { cases, store, clock, policy } = this.#parts;
    const take = async () => cases.take(ref.notificationId, ref, event, log);
    const found = await take();
    if (found !== undefined) return found;
    // Of a call that nobody knows, only what asks for something is written down.
    const now = clock.now();
    const { case: next, asks } = step(newStranger(event.callId, alertType, now), ref, event, { policy }, now);
    if (asks.length === 0) return undefined;
    try {
      const stored = await store.insertStranger(next, now);
      cases.remember(stored);
      return { stored, isChanged: true, asks };
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error;
      return take();
    }
  }

  async #withoutTable(
    event: AttemptReport,
    known: NotificationCase | undefined,
    pathType: AlertType,
    log: Log,
  ): Promise<void> {
    const { kind, callId, attempt, speech = MESSAGE } = event;
    const fields = { call_id: callId, alert_type: pathType.name };
    if (kind === 'connected') {
      if (this.#spokenTo.has(callId)) return;
      this.#noteSpokenTo(callId, { speech, confirm: known?.notification.confirm === true });
      const { line, policy } = this.#parts;
      const alertType = (known && findAlertType(known.notification.alertType)) ?? pathType;
      try {
        const text = spokenMessage(policy.serviceName, alertType, known?.notification);
        const speaking = line.speak(callId, text, attempt && { ...attempt, speech });
        if (attempt !== undefined && known !== undefined) void this.#listen(attempt, known, callId, log);
        await speaking;
        this.#keep({ ...event, kind: 'spoken to' }, pathType.name);
        log.info('message playing', fields);
      } catch (error) {
        // It may be speaking all the same: then its end hangs up.
        if (error instanceof PhoneLineError && error.failure === 'unanswered') return;
        logNotPlayed(resultOf(error), fields, log);
        await this.#endLine(callId, fields, log);
      }
    } else if (kind === 'play completed' || kind === 'play failed' || kind === 'play canceled') {
      const spoken = this.#spokenTo.get(callId);
      // Its end was brought about by the next speech.
      if (spoken !== undefined && speech < spoken.speech) return;
      if (kind !== 'play completed' || !isMessage(speech) || spoken?.confirm !== true) {
        await this.#endLine(callId, fields, log);
        return;
      }
      const { clock, log: ownLog } = this.#parts;
      clock.after(KEYS_AFTER_MS, () => {
        if (this.#spokenTo.get(callId) === spoken) void this.#endLine(callId, fields, ownLog);
      });
    }
  }

  #keep(event: AttemptReport, alertType: AlertTypeName): void {
    // Of a call of another system nobody is called again.
    if (event.attempt === undefined || this.#kept.length >= MOST_KEPT) return;
    this.#kept.push({ event, alertType });
    if (this.#kept.length === 1) this.#writeSoon();
  }

  /** Another instance that knows nothing of it may call again: it is written down as soon as the table is back. */
  #writeSoon(): void {
    const { clock, log } = this.#parts;
    const write = async (): Promise<void> => {
      try {
        await this.writeKept(log);
      } catch (error) {
        if (!(error instanceof StorageTrouble)) log.error('unexpected error', { kind: errorKind(error) });
        if (this.#kept.length > 0) this.#writeSoon();
      }
    };
    clock.after(KEPT_RETRY_MS, () => void write());
  }

  async #endLine(callId: CallId, fields: LogFields, log: Log): Promise<boolean> {
    try {
      await this.#hangingUp(async () => this.#parts.line.hangUp(callId));
      log.info('call hung up', fields);
      return true;
    } catch (error) {
      log.error('hang-up failed', { ...fields, ...failureFields(error) });
      return false;
    }
  }

  /** Does what a decision asks for, and takes the answers as the next events. Never throws: who looks later finds the rest. */
  async carryOut({ stored, asks }: Done, log: Log): Promise<void> {
    const { id } = stored.notification;
    await Promise.all(
      asks.map(async ({ ask, index, attemptId }) => {
        const ref = { notificationId: id, index, attemptId };
        try {
          if (ask === 'dial') await this.#dial(ref, stored, log);
          else if (ask === 'speak') await this.#speak(ref, stored, log);
          else if (ask === 'wait for keys') this.#waitForKeys(ref, stored);
          else await this.#hangUp(ref, stored, log);
        } catch (error) {
          const fields = { notification_id: id, recipient_index: index, kind: errorKind(error) };
          if (error instanceof StorageTrouble) log.warn('recipient not updated', fields);
          else log.error('unexpected error', fields);
        }
      }),
    );
  }

  async #dial(ref: AttemptRef, stored: StoredCase, log: Log): Promise<void> {
    const { line } = this.#parts;
    const { alertType: type, callbackBaseUrl } = stored.notification;
    const attempt = attemptIn(stored, ref);
    const alertType = findAlertType(type);
    const number = stored.recipients[ref.index]?.number;
    if (attempt === undefined || alertType === undefined || number === undefined || isMaskedNumber(number)) return;
    const fields = attemptFields(stored, ref);
    log.info('call requested', fields);
    let event: AttemptEvent;
    try {
      const firstSentAt = attempt.claimedAt;
      const callId = await line.call({ number, alertType, attempt: ref, firstSentAt, callbackBaseUrl });
      log.info('call placed', { ...fields, call_id: callId, ...secondsToCall(stored, this.#parts.clock.now()) });
      event = { kind: 'placed', callId };
    } catch (error) {
      const failure = error instanceof PhoneLineError ? error.failure : 'unanswered';
      const result = resultOf(error);
      event = { kind: 'not placed', why: NOT_PLACED[failure], result };
      if (event.why === 'no_line') log.warn('no line free', { ...fields, ...failureFields(error) });
      else if (failure === 'forbidden') log.warn('call refused', { ...fields, ...failureFields(error) });
      else log.error('call not placed', { ...fields, ...failureFields(error) });
    }
    await this.#answer(ref, event, log);
  }

  async #speak(ref: AttemptRef, stored: StoredCase, log: Log): Promise<void> {
    const { line, policy } = this.#parts;
    const { notification, recipients } = stored;
    const attempt = attemptIn(stored, ref);
    const alertType = findAlertType(notification.alertType);
    if (attempt?.callId === undefined || alertType === undefined) return;
    const { callId } = attempt;
    const speech = speechNow(attempt);
    this.#noteSpokenTo(callId, { speech, confirm: notification.confirm === true });
    const fields = { ...attemptFields(stored, ref), ...(speech === MESSAGE ? {} : { speech: SPEECH_NAMES[speech] }) };
    const context = recipients[ref.index]?.number === undefined ? undefined : { ...ref, speech };
    const text = spokenText(speech, spokenMessage(policy.serviceName, alertType, notification));
    const speaking = line.speak(callId, text, context);
    // Beside the message, which it never delays, and once: it goes on until the end of the call.
    const listening = speech === MESSAGE ? this.#listen(ref, stored, callId, log) : undefined;
    let event: AttemptEvent;
    try {
      await speaking;
      log.info('message playing', fields);
      event = { kind: 'speech accepted', speech };
    } catch (error) {
      const failure = error instanceof PhoneLineError ? error.failure : 'unanswered';
      const why = failure === 'gone' ? 'gone' : failure === 'unanswered' ? 'unclear' : 'failed';
      const { reason } = resultOf(error);
      event = {
        kind: 'not spoken',
        why,
        speech,
        result: { ...resultOf(error), reason: `message not played: ${reason}` },
      };
      // What a key asked for may fail: the key counts, and the message was spoken.
      if (why === 'failed' && (speech === MESSAGE || failure === 'no speech'))
        logNotPlayed(resultOf(error), fields, log);
      else log.warn('message perhaps not played', { ...fields, ...failureFields(error) });
    }
    await this.#answer(ref, event, log);
    await listening;
  }

  /** A key that cannot be heard leaves the call unconfirmed; it goes on. */
  async #listen(ref: AttemptRef, known: NotificationCase, callId: CallId, log: Log): Promise<void> {
    const { notification, recipients } = known;
    const number = recipients[ref.index]?.number;
    if (notification.confirm !== true || number === undefined || isMaskedNumber(number)) return;
    try {
      await this.#parts.line.listen(callId, number, ref);
    } catch (error) {
      log.warn('keys not heard', { call_id: callId, notification_id: notification.id, ...failureFields(error) });
    }
  }

  /** Nothing is spoken any more: the line is hung up when keys were waited for long enough. */
  #waitForKeys(ref: AttemptRef, stored: StoredCase): void {
    const { cases, clock, log } = this.#parts;
    const attempt = attemptIn(stored, ref);
    if (attempt?.quietSince === undefined) return;
    const { callId, quietSince } = attempt;
    const end = async (): Promise<void> => {
      try {
        await this.#answer(ref, { kind: 'no key' }, log);
      } catch (error) {
        // Without the table the line is hung up all the same, unless another speech has begun.
        const known = cases.recall(ref.notificationId);
        const now = known && attemptIn(known, ref);
        if (callId !== undefined && (now === undefined || now.quietSince === quietSince)) {
          await this.#endLine(callId, attemptFields(stored, ref), log);
        }
        if (!(error instanceof StorageTrouble)) log.error('unexpected error', { kind: errorKind(error) });
      }
    };
    clock.after(Math.max(1, quietSince + KEYS_AFTER_MS + TIMER_MS - clock.now()), () => void end());
  }

  async #hangUp(ref: AttemptRef, stored: StoredCase, log: Log): Promise<void> {
    const callId = attemptIn(stored, ref)?.callId;
    if (callId === undefined) return;
    // If that fails, whoever looks when the claim has run out tries again.
    if (await this.#endLine(callId, attemptFields(stored, ref), log)) await this.#answer(ref, { kind: 'hung up' }, log);
  }

  /** The answer of the line, as the next event. */
  async #answer(ref: AttemptRef, event: AttemptEvent, log: Log): Promise<void> {
    const done = await this.#parts.cases.take(ref.notificationId, ref, event, log);
    if (done === undefined) return;
    if (done.isFirstForbidden === true) logForbidden(done, ref, log);
    await this.carryOut(done, log);
  }

  #noteSpokenTo(callId: CallId, spoken: Spoken): void {
    this.#spokenTo.set(callId, spoken);
    const [oldest] = this.#spokenTo.keys();
    if (this.#spokenTo.size > MOST_SPOKEN_TO && oldest !== undefined) this.#spokenTo.delete(oldest);
  }
}

/** What is written down when the table is back: what somebody has heard, and what they answered. A 2 is of no use then. */
const isKept = ({ kind, key }: AttemptReport): boolean => {
  if (kind !== 'tone received') return kind === 'play completed';
  const answer = answerOfKey(key?.key);
  return answer === 'confirms' || answer === 'cannot go';
};

/** In logs. */
const SPEECH_NAMES = { 1: 'repeat', 2: 'second repeat', 8: 'cannot go', 9: 'confirmed' } as const;

/** Somebody answered into silence. */
const logNotPlayed = ({ code, subCode, reason, meaning, lookAt }: CallResult, fields: LogFields, log: Log): void => {
  const told = { ...fields, code, sub_code: subCode, reason };
  if (meaning === 'no_speech') log.error('speech not available', { ...told, look_at: lookAt });
  else log.error('message not played', told);
};

/** What an event says about the line, in the log. */
const logEvent = ({ kind, callId, result }: AttemptReport, done: Done, ref: AttemptRef, log: Log): void => {
  const codes = { code: result.code, sub_code: result.subCode, reason: result.reason };
  const fields = { ...attemptFields(done.stored, ref, callId), call_id: callId };
  // Reported again: told already.
  if (kind === 'play failed' && done.isChanged) logNotPlayed(result, fields, log);
  if (kind !== 'disconnected' && kind !== 'create failed') return;
  log.info('call disconnected', { ...fields, ...codes });
  if (kind === 'create failed' && result.meaning === 'set_up') log.error('call not placed', { ...fields, ...codes });
  if (done.isFirstForbidden === true) logForbidden(done, ref, log);
};

/** One call alone does not tell whose fault it is. */
const logForbidden = ({ stored }: Done, ref: AttemptRef, log: Log): void =>
  log.error('call forbidden', { ...attemptFields(stored, ref), reason: FORBIDDEN });

const FORBIDDEN = 'this callee or their network blocks our number, or our number may not call at all';

/** Nobody's phone has rung for an urgent notification. */
const logSilence = ({ notification, recipients }: StoredCase, open: readonly OpenRow[], log: Log): void => {
  const { id, alertType, reference } = notification;
  const own = new Set(recipients.map(({ number }) => hashOfNumber(number)));
  const busy = open.filter(({ number, attempt }) => own.has(number) && attempt?.notificationId !== id).length;
  log.error('urgent notification silent', {
    notification_id: id,
    alert_type: alertType,
    reference,
    busy_with_our_calls: busy,
    reason: recipients.find(({ reason }) => reason !== undefined)?.reason,
  });
};

const logLook = ({ stored, asks }: Done, ref: RecipientRef, log: Log): void => {
  for (const { ask, attemptId } of asks) {
    const own = { ...ref, attemptId };
    const attempt: Attempt | undefined = attemptIn(stored, own);
    const fields = attemptFields(stored, own);
    if (ask === 'dial') log.warn('call request unclear', fields);
    else if (attempt?.isUnanswered !== true) log.warn('call overdue', { ...fields, reason: attempt?.reason });
  }
};

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
