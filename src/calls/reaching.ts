import { randomUUID } from 'node:crypto';

import type { Log, LogFields } from '../log.ts';
import type { Alarm } from './alarm.ts';
import { findAlertType } from './alert-types.ts';
import type { AttemptRef } from './call-context.ts';
import type { CallOwners } from './call-flow.ts';
import type { CallId } from './call-id.ts';
import { errorKind, failureFields, logAttempt, logRecipient, recipientFields } from './call-log.ts';
import { type CallOutcome, outcomeOf } from './call-outcome.ts';
import { type CallRecord, placed as callPlaced } from './call-record.ts';
import type { LinePause } from './line-pause.ts';
import type { Notification } from './notification.ts';
import { type PhoneLine, PhoneLineError } from './phone-line.ts';
import { isMaskedNumber, maskPhoneNumber } from './phone-number.ts';
import * as person from './recipient.ts';
import { attemptOf, isFinal, type Recipient } from './recipient-state.ts';
import type { CallLedger } from './store/call-ledger.ts';
import { endOfDay } from './store/day-calls.ts';
import type { NotificationStores } from './store/notification-stores.ts';
import { RowsUnavailable } from './store/rows.ts';

/** What reaching people needs. */
export interface ReachingParts {
  readonly line: PhoneLine;
  readonly ledger: CallLedger;
  readonly stores: NotificationStores;
  readonly rules: person.ReachRules;
  readonly alarm: Alarm;
  readonly pause: LinePause;
}

/** A recipient of a notification. */
export interface RecipientOf {
  readonly notification: Notification;
  readonly index: number;
}

const SETTLE_AGAIN_AFTER_MS = 5_000;
const CALLS_USED_UP = 'the calls of the day are used up';

/**
 * From a recipient who waits to one who heard, or cannot be reached: dials, takes down what became of each attempt, and decides whether
 * there is another. Every step is claimed in the recipient's row, together with the time when somebody must look again.
 */
export class Reaching implements CallOwners {
  readonly #parts: ReachingParts;
  /** Ends of calls that could not be written down yet. */
  readonly #unsettled = new Map<CallId, CallRecord>();
  /** Calls that nobody else will look after, for want of the table, and when their message should be over. */
  readonly #unwatched = new Map<CallId, number>();

  constructor(parts: ReachingParts) {
    this.#parts = parts;
  }

  /**
   * Dials a recipient who waits, unless another instance does.
   *
   * @param queuedAt since when there has been a wait for a line, in milliseconds since 1970: the order in which lines are given
   */
  async dial({ notification, index }: RecipientOf, queuedAt: number, log: Log): Promise<void> {
    const { stores, pause } = this.#parts;
    const now = Date.now();
    if (pause.isOn(now)) return;
    const attemptId = randomUUID();
    const ref: AttemptRef = { notificationId: notification.id, index, attemptId };
    const store = stores.of(notification.id);
    const claimed = await store.claim(notification.id, index, (known) => person.claim(known, attemptId, now), now);
    switch (claimed?.action) {
      case 'claimed':
        await this.#requestCall({ notification, index }, ref, claimed.recipient, queuedAt, log);
        return;
      case 'given up':
        await this.#settled(ref, claimed.recipient, log);
        return;
      case 'no calls left': {
        const until = endOfDay(now);
        await store.update(notification.id, index, (known) => person.postponed(known, until, CALLS_USED_UP, now));
        log.error('day limit reached', { ...recipientFields(ref), until: new Date(until).toISOString() });
        return;
      }
      case 'nothing':
      case undefined:
    }
  }

  /** Looks after a call request whose answer nobody has written down: its claim has run out, or the answer was unclear. */
  async lookAfterCallRequest({ notification, index }: RecipientOf, log: Log): Promise<person.Look> {
    const now = Date.now();
    const looked = await this.#parts.stores
      .of(notification.id)
      .update(notification.id, index, (known) => person.lookAfter(known, this.#parts.rules, now));
    const attempt = looked?.recipient.attempts.at(-1);
    if (looked === undefined || attempt === undefined) return 'nothing';
    const ref: AttemptRef = { notificationId: notification.id, index, attemptId: attempt.id };
    if (looked.action === 'resend') {
      log.warn('call request unclear', { ...recipientFields(ref), attempt: looked.recipient.attempts.length });
      await this.#requestCall({ notification, index }, ref, looked.recipient, now, log);
    } else if (looked.action === 'ended') {
      logAttempt(ref, looked.recipient, attempt, log);
      await this.#settled(ref, looked.recipient, log);
    }
    this.#ringFor(looked.recipient);
    return looked.action;
  }

  /** The call of a recipient lasts: it is looked after again at that time, in milliseconds since 1970. */
  async lookAgain(ref: AttemptRef, at: number): Promise<void> {
    const { stores, alarm } = this.#parts;
    await stores
      .of(ref.notificationId)
      .update(ref.notificationId, ref.index, (known) => person.stillCalling(known, ref.attemptId, at));
    alarm.ringAt(at);
  }

  async answered(callId: CallId, known: CallRecord, overAt: number, log: Log): Promise<void> {
    const { attempt: ref } = known;
    try {
      const store = ref && this.#parts.stores.of(ref.notificationId);
      const step =
        ref &&
        (await store?.update(ref.notificationId, ref.index, (recipient) =>
          person.answered(recipient, ref.attemptId, callId, overAt),
        ));
      // A recipient in memory ends with this process; the line does not.
      if (step?.action !== 'owned' || store !== this.#parts.stores.table) {
        await this.#parts.stores.table.dueList.watchCall(callId, overAt);
      }
      this.#parts.alarm.ringAt(overAt);
    } catch (error) {
      this.watch(callId, overAt);
      this.#warnOfRows(error, 'recipient not updated', { call_id: callId, ...recipientFields(ref) }, log);
    }
  }

  async ended(callId: CallId, known: CallRecord, log: Log): Promise<void> {
    const outcome = outcomeOf(known);
    if (outcome === undefined) return;
    const { pause, alarm } = this.#parts;
    if (outcome.outcome === 'throttled') pause.throttled(undefined, Date.now());
    else pause.lineIsFree();
    alarm.ringAt(Math.max(Date.now(), pause.until));
    if (known.attempt === undefined) return;
    try {
      await this.end(known.attempt, callId, outcome, log);
      this.#unsettled.delete(callId);
    } catch (error) {
      this.#unsettled.set(callId, known);
      alarm.ringAt(Date.now() + SETTLE_AGAIN_AFTER_MS);
      this.#warnOfRows(error, 'recipient not updated', { call_id: callId, ...recipientFields(known.attempt) }, log);
    }
  }

  /** Takes down what could not be written when it came. */
  async settleAgain(log: Log): Promise<void> {
    const { ledger } = this.#parts;
    for (const [callId, known] of await ledger.writeAgain()) {
      if (known.state === 'ended') this.#unsettled.set(callId, known);
    }
    const unsettled = [...this.#unsettled];
    this.#unsettled.clear();
    for (const [callId, known] of unsettled) {
      // Another instance may know more of the call by now.
      const { record } = await ledger.read(callId, log);
      await this.ended(callId, record ?? known, log);
    }
  }

  /** Has this process look after a call at a time, in milliseconds since 1970. */
  watch(callId: CallId, at: number): void {
    this.#unwatched.set(callId, at);
    this.#parts.alarm.ringAt(at);
  }

  /** Those calls whose time has come; they are not watched any more. */
  takeWatched(now: number): readonly CallId[] {
    const due = [...this.#unwatched].flatMap(([callId, at]) => (at <= now ? callId : []));
    for (const callId of due) this.#unwatched.delete(callId);
    return due;
  }

  /** Takes down what became of an attempt, and what follows. */
  async end(ref: AttemptRef, callId: CallId | undefined, outcome: CallOutcome, log: Log): Promise<void> {
    const { stores, rules } = this.#parts;
    const store = stores.of(ref.notificationId);
    const now = Date.now();
    const step = await store.update(ref.notificationId, ref.index, (recipient) =>
      person.ended(recipient, ref.attemptId, callId, outcome, rules, now),
    );
    if (step?.action !== 'ended') return;
    if (outcome.outcome === 'throttled' && callId !== undefined) await store.dueList.forgetCall(callId);
    const attempt = attemptOf(step.recipient, ref.attemptId);
    if (attempt === undefined) {
      const why = { code: outcome.code, sub_code: outcome.subCode, reason: outcome.reason };
      log.warn('no line free', { call_id: callId, ...recipientFields(ref), ...why });
    } else logAttempt(ref, step.recipient, attempt, log);
    this.#ringFor(step.recipient);
    await this.#settled(ref, step.recipient, log);
  }

  /** Sends a call request, and takes down the answer. */
  async #requestCall(
    { notification, index }: RecipientOf,
    ref: AttemptRef,
    recipient: Recipient,
    queuedAt: number,
    log: Log,
  ): Promise<void> {
    const { line, ledger, stores, alarm, pause } = this.#parts;
    const alertType = findAlertType(notification.alertType);
    const attempt = attemptOf(recipient, ref.attemptId);
    const { number } = recipient;
    if (alertType === undefined || attempt === undefined || isMaskedNumber(number)) return;
    const masked = maskPhoneNumber(number);
    const fields = {
      ...recipientFields(ref),
      alert_type: alertType.name,
      recipient: masked,
      attempt: recipient.attempts.length,
    };
    log.info('call requested', fields);
    const store = stores.of(notification.id);
    const sentAt = Date.now();
    try {
      const { callbackBaseUrl } = notification;
      const firstSentAt = attempt.claimedAt;
      const callId = await line.call({ number, alertType, attempt: ref, firstSentAt, callbackBaseUrl });
      pause.accepted(sentAt);
      log.info('call placed', { call_id: callId, ...fields });
      const details = { alertType: alertType.name, recipient: masked, attempt: ref };
      const now = Date.now();
      await Promise.all([
        ledger.step(callId, (known) => callPlaced(known, details, now), log),
        store.update(notification.id, index, (known) => person.placed(known, ref.attemptId, callId, now)),
      ]);
      alarm.ringAt(now + person.LOOK_AFTER_MS);
    } catch (error) {
      if (error instanceof RowsUnavailable) {
        // The request is sent again when the claim has run out, and places no second call.
        this.#warnOfRows(error, 'recipient not updated', fields, log);
        return;
      }
      const why = notPlacedBecause(error);
      if (error instanceof PhoneLineError && error.failure === 'throttled') pause.throttled(error.waitMs, Date.now());
      else if (why.kind === 'passing') pause.throttled(undefined, Date.now());
      alarm.ringAt(pause.until);
      log.warn(why.kind === 'passing' ? 'no line free' : 'call not placed', { ...fields, ...failureFields(error) });
      const step = await store.update(notification.id, index, (known) =>
        person.notPlaced(known, ref.attemptId, why, queuedAt, Date.now()),
      );
      if (step !== undefined) this.#ringFor(step.recipient);
      if (step?.action === 'ended') {
        const over = attemptOf(step.recipient, ref.attemptId);
        if (over !== undefined) logAttempt(ref, step.recipient, over, log);
        await this.#settled(ref, step.recipient, log);
      }
    }
  }

  /** Where nothing more will be done about a recipient: says so, and completes the notification if that was the last one. */
  async #settled(ref: AttemptRef, recipient: Recipient, log: Log): Promise<void> {
    if (!isFinal(recipient)) return;
    logRecipient(ref, recipient, log);
    const { notificationId } = ref;
    if ((await this.#parts.stores.of(notificationId).complete(notificationId, Date.now())) === 'completed') {
      log.info('notification completed', { notification_id: notificationId });
    }
  }

  #ringFor({ dueAt }: Recipient): void {
    if (dueAt !== undefined && dueAt > Date.now()) this.#parts.alarm.ringAt(dueAt);
  }

  #warnOfRows(error: unknown, event: 'recipient not updated', fields: LogFields, log: Log): void {
    if (error instanceof RowsUnavailable) log.warn(event, { ...fields, kind: error.kind });
    else log.error('unexpected error', { ...fields, kind: errorKind(error) });
  }
}

const notPlacedBecause = (error: unknown): person.NotPlaced => {
  if (!(error instanceof PhoneLineError)) return { kind: 'unclear', reason: 'unexpected error' };
  const { failure, reason, code, subCode } = error;
  const why = { reason, code, subCode };
  switch (failure) {
    case 'throttled':
    case 'not sent':
      return { kind: 'passing', ...why };
    case 'refused':
    case 'gone':
      return { kind: 'refused', ...why };
    case 'unanswered':
      return { kind: 'unclear', ...why };
  }
};
