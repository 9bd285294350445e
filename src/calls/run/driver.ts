import pLimit from 'p-limit';

import type { Log, LogFields } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { type AlertType, type AlertTypeName, findAlertType } from '../model/alert-types.ts';
import type { NotMade } from '../model/outcome.ts';
import { type Attempt, type AttemptEvent, answerBy, speechNow } from '../state/attempt.ts';
import type { AttemptRef } from '../model/call-context.ts';
import type { CallEvent, CallResult } from '../model/call-event.ts';
import type { CallId } from '../model/call-id.ts';
import { attemptFields, errorKind, failureFields } from './call-log.ts';
import { Cases, type CasesParts, type Committed, keyOf, type RecipientRef, type Step } from './cases.ts';
import { CALLS_USED_UP, endOfDay } from '../rules/day-limit.ts';
import { answerOfKey, KEYS_AFTER_MS } from '../rules/keys.ts';
import { longestSpeakingMs, messageUnit, spokenMessage, spokenText, surelySpokenMs } from '../rules/message.ts';
import {
  attemptIn,
  isUrgentNotification,
  lookedAt,
  type NotificationCase,
  stoppedNotification,
  withRecipient,
} from '../state/notification.ts';
import type { NotificationId } from '../model/notification-id.ts';
import { type PhoneLine, PhoneLineError, type PhoneLineFailure } from '../model/phone-line.ts';
import { isMaskedNumber } from '../model/phone-number.ts';
import { isMessage, MESSAGE, type SpeechNumber } from '../model/speech.ts';
import {
  afterEvent,
  attemptOf,
  dialled,
  looked,
  MOST_WITHOUT_LINE,
  postponed,
  type ReachTerms,
  type Recipient,
  type RecipientStep,
  SET_UP_RETRY_MS,
  unchanged,
} from '../state/recipient.ts';
import { openCallsOf, type StoredCase } from '../store/notification-store.ts';
import type { PhoneRules } from '../rules/policy.ts';
import { newStranger, strangerRef } from '../state/foreign-call.ts';

/** What the driver needs. */
export interface DriverParts extends CasesParts {
  readonly line: PhoneLine;
  /** Spoken in the message. */
  readonly serviceName: string;
  readonly rules: PhoneRules;
  readonly newId: () => string;
  /** For what happens outside any request. */
  readonly log: Log;
}

/** An event that moves an attempt. */
type AttemptReport = CallEvent & { readonly kind: Exclude<CallEvent['kind'], 'tone failed'> };

const isAboutAttempt = (event: CallEvent): event is AttemptReport => event.kind !== 'tone failed';

/** What a process has said last in a call. */
interface Spoken {
  readonly speech: SpeechNumber;
  /** Whether keys were asked for. */
  readonly confirm: boolean;
}

/** What follows for a recipient now. */
type Decide = (recipient: Recipient, terms: ReachTerms, now: number) => RecipientStep;

/** What attending to something due has come to: the notification if nothing was to be done, or `left` for later. */
export type Attended = StoredCase | 'moved' | 'left' | 'unknown';

// Start and end of a message may be reported to two instances.
const CLOCKS_DIFFER_MS = 2_000;
// Sooner nobody has heard a phone ring and declined; clocks that differ included.
const RANG_AFTER_MS = 6_000;
const URGENT_FIRST: CallResult = { reason: 'urgent calls wait for a line' };
// A line that waits for what to do gives up soon after.
const ANSWERED_WITHIN_MS = 3_500;
// Of the calls of the last hours; each is a text of 40 characters.
const MOST_SPOKEN_TO = 10_000;
const HUNG_UP_AT_A_TIME = 8;
// Timers fire a moment early.
const TIMER_MS = 50;
// While the table is away, keys wait for it in this process.
const KEY_RETRY_MS = 2_000;
const KEY_KEPT_MS = 3_600_000;
const MOST_KEYS_KEPT = 1_000;
/** All that may be ringing or open has an entry within this time, in milliseconds. */
export const OPEN_WITHIN_MS = 300_000;

/**
 * From what happens to requests to the line. Each step reads the notification (or takes what this process knows of it), asks the state
 * machines, writes what they say in one transaction, and only then dials, speaks or hangs up; the answer is the next step.
 */
export class Driver {
  readonly #parts: DriverParts;
  readonly #cases: Cases;
  /** Whom this process has spoken to, and what it said last: without the table nobody else can tell. */
  readonly #spokenTo = new Map<CallId, Spoken>();
  #troubleAt = -Infinity;
  #keysKept = 0;

  constructor(parts: DriverParts) {
    this.#parts = parts;
    this.#cases = new Cases(parts);
  }

  /** What the line reports. Without the table: speak when somebody answers, hang up when the message is over, remember nothing. */
  async handle(event: CallEvent, alertType: AlertType, log: Log): Promise<void> {
    // A step that fails forgets what was remembered.
    const known = event.attempt && this.#cases.recall(event.attempt.notificationId);
    if (!isAboutAttempt(event)) {
      // What was heard until then counts; the call goes on.
      const { code, subCode, reason } = event.result;
      log.warn('keys not heard', { call_id: event.callId, code, sub_code: subCode, reason });
      return;
    }
    try {
      await this.#inTime(event, this.#take(event, alertType.name, log));
    } catch (error) {
      const kind = error instanceof StorageTrouble ? error.reason : errorKind(error);
      log.warn('call records unreachable', { call_id: event.callId, event_kind: event.kind, kind });
      this.noteTrouble();
      await this.#withoutTable(event, known, alertType, log);
    }
  }

  /** A line that waits for what to do is not kept waiting by the table. @throws {StorageTrouble} if it takes too long */
  async #inTime({ isAwaiting }: AttemptReport, taking: Promise<void>): Promise<void> {
    if (isAwaiting !== true) return taking;
    let cancel = (): void => undefined;
    const late = new Promise<never>((_, reject) => {
      cancel = this.#parts.clock.after(ANSWERED_WITHIN_MS, () => reject(new StorageTrouble(0, { reason: 'late' })));
    });
    try {
      return await Promise.race([taking, late]);
    } finally {
      cancel();
    }
  }

  /** The table cannot be used now: others may speak meanwhile, and not be able to write it down. */
  noteTrouble(): void {
    this.#troubleAt = this.#parts.clock.now();
  }

  /** Dials a recipient who waits, unless another instance does. */
  async dial({ notificationId, index }: RecipientRef, log: Log): Promise<Attended> {
    const { clock, newId, pause } = this.#parts;
    if (pause.isOn(clock.now())) return 'left';
    const ref = { notificationId, index };
    const attemptId = newId();
    const done = await this.#change(ref, (recipient, terms, now) => dialled(recipient, attemptId, terms, now), log);
    if (done?.isOutOfCalls !== true) return this.#attended(ref, done, log);
    await this.#postpone(ref, log);
    return 'moved';
  }

  /**
   * Sends the call requests of a new notification: its first calls are claimed already. If it is not urgent, and urgent calls wait for a line, they
   * wait as well.
   */
  async dialFirst(stored: StoredCase, log: Log): Promise<void> {
    const { id } = stored.notification;
    this.#cases.remember(id, undefined, stored);
    const isHeldBack = !isUrgentNotification(stored.notification) && (await this.#urgentWaits());
    await Promise.all(
      stored.recipients.map(async ({ attempts: [first], isCovered }, index) => {
        if (first === undefined || isCovered !== true) return;
        const ref = { notificationId: id, index, attemptId: first.id };
        if (isHeldBack) await this.#answer(ref, { kind: 'not placed', why: 'no_line', result: URGENT_FIRST }, log);
        else await this.#dial(ref, stored, log);
      }),
    );
  }

  /** Whether an urgent call waits for a line. If the table does not tell, nobody is kept waiting. */
  async #urgentWaits(): Promise<boolean> {
    const { store, clock } = this.#parts;
    try {
      return (await store.due(clock.now())).some(({ kind }) => kind === 'dial_urgent');
    } catch (error) {
      if (error instanceof StorageTrouble) return false;
      throw error;
    }
  }

  /** Looks after a recipient of whose call nothing was heard, or who is not to ring any more. */
  async look({ notificationId, index }: RecipientRef, log: Log): Promise<Attended> {
    const { clock } = this.#parts;
    const ref = { notificationId, index };
    const done = await this.#change(
      ref,
      (recipient, terms, now) => {
        // Somebody may have answered while the table was away, and be listening.
        const isUnsure = recipient.attempts.some(
          ({ state, unclearAt }) => state === 'placed' || (state === 'speaking' && unclearAt !== undefined),
        );
        const isLeftAlone = isUnsure && clock.now() < this.#troubleAt + terms.messageMs;
        return isLeftAlone ? unchanged(recipient) : looked(recipient, terms, now);
      },
      log,
    );
    if (done !== undefined) logLook(done.stored, ref, done.asks, log);
    return this.#attended(ref, done, log);
  }

  /** Looks at a notification as a whole: the claims of its first calls have run out, or its next wave is due. */
  async lookAtNotification(id: NotificationId, log: Log): Promise<Attended> {
    const stored = await this.#parts.store.load(id);
    if (stored === undefined) return 'unknown';
    const now = this.#parts.clock.now();
    const covered = stored.recipients.flatMap(({ isCovered, dueAt = 0 }, index) =>
      isCovered === true && dueAt <= now ? index : [],
    );
    if (covered.length > 0) log.warn('notification taken over', { notification_id: id });
    await Promise.all(covered.map(async (index) => this.look({ notificationId: id, index }, log)));
    const { newId, clock } = this.#parts;
    return attended(await this.#cases.commit(id, id, (known) => ({ next: lookedAt(known, newId, clock.now()) }), log));
  }

  /** Stops a notification, and hangs up who rings. Answers it as it stands then; undefined if there is none. */
  async stop(id: NotificationId, log: Log): Promise<NotificationCase | undefined> {
    const { clock } = this.#parts;
    const stop = (known: NotificationCase): Step => ({ next: stoppedNotification(known, clock.now()) });
    const done = await this.#cases.commit(id, id, stop, log);
    if (done === undefined) return undefined;
    await this.#hangUpWhoRings(done.stored, log);
    return this.#cases.recall(id) ?? done.stored;
  }

  /** A notification as it is stored. */
  async read(id: NotificationId): Promise<NotificationCase | undefined> {
    return this.#parts.store.load(id);
  }

  /** What this process wrote last, if it remembers. */
  recall(id: NotificationId): NotificationCase | undefined {
    return this.#cases.recall(id);
  }

  async #attended(ref: RecipientRef, done: Committed | undefined, log: Log): Promise<Attended> {
    if (done !== undefined) await this.#carryOut(ref, done, log);
    return attended(done);
  }

  /** The step that an event asks for: of its attempt or, if nobody knows that, of the call itself. */
  async #take(event: AttemptReport, alertType: AlertTypeName, log: Log): Promise<void> {
    const { attempt: ref, callId } = event;
    if (ref !== undefined) {
      const { result, beside } = await this.#judged(event, ref);
      const told: AttemptEvent = { ...event, result };
      let isKnown = false;
      const committed = await this.#change(
        ref,
        (recipient, terms, now) => {
          const attempt = attemptOf(recipient, ref.attemptId);
          isKnown = attempt !== undefined && (attempt.callId === undefined || attempt.callId === callId);
          return isKnown ? afterEvent(recipient, ref.attemptId, told, terms, now, beside) : unchanged(recipient);
        },
        log,
      );
      if (isKnown) {
        this.#note(event, committed, ref, log);
        if (committed !== undefined) await this.#carryOut(ref, committed, log);
        return;
      }
    }
    const stranger = strangerRef(callId);
    const committed = await this.#takeStranger(event, stranger, alertType, log);
    if (committed === undefined) return;
    this.#note(event, committed, stranger, log);
    await this.#carryOut(stranger, committed, log);
  }

  async #takeStranger(
    event: AttemptReport,
    ref: AttemptRef,
    alertType: AlertTypeName,
    log: Log,
  ): Promise<Committed | undefined> {
    const { store, clock } = this.#parts;
    const move = this.#moveOf(ref, (recipient, terms, now) => afterEvent(recipient, ref.attemptId, event, terms, now));
    const commit = async () => this.#cases.commit(ref.notificationId, keyOf(ref), move, log);
    const found = await commit();
    if (found !== undefined) return found;
    // Of a call that nobody knows, only what asks for something is written down.
    const { next, asks = [] } = move(newStranger(event.callId, alertType, clock.now()));
    if (asks.length === 0) return undefined;
    try {
      const stored = await store.insertStranger(next, clock.now());
      this.#cases.remember(ref.notificationId, undefined, stored);
      return { stored, isChanged: true, asks };
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error;
      return commit();
    }
  }

  /**
   * A call that was declined at once while others of ours are open had no line: the codes are the same. A person who declines has heard it
   * ring.
   */
  async #judged(
    { kind, result }: CallEvent,
    ref: AttemptRef,
  ): Promise<{ readonly result: CallResult; readonly beside?: number }> {
    if (result.meaning !== 'declined' || (kind !== 'create failed' && kind !== 'disconnected')) return { result };
    const { store, clock } = this.#parts;
    const known = await store.load(ref.notificationId);
    const attempt = known && attemptIn(known, ref);
    if (known === undefined || attempt === undefined) return { result };
    const endedAt = attempt.disconnectedAt ?? attempt.endedAt ?? clock.now();
    const hasRung = endedAt - (attempt.placedAt ?? attempt.claimedAt) >= RANG_AFTER_MS;
    if (hasRung || (known.recipients[ref.index]?.noLine ?? 0) >= MOST_WITHOUT_LINE) return { result };
    const due = await store.due(clock.now() + OPEN_WITHIN_MS);
    const others = openCallsOf(due).filter(({ notificationId }) => notificationId !== ref.notificationId).length;
    // In this notification: also calls that have ended since. What counts is the moment of the request, which is that of its claim.
    const inIt = (tolerance: number): number =>
      known.recipients.filter(
        ({ attempts }, index) =>
          index !== ref.index && attempts.some((one) => wasOpen(one, attempt.claimedAt, tolerance)),
      ).length;
    // One whose instance has another clock may seem not to have been open. How many lines there are, calls that were refused as well do not tell.
    if (others + inIt(CLOCKS_DIFFER_MS) === 0) return { result };
    return { result: { ...result, meaning: 'no_line' }, beside: Math.max(1, others + inIt(0)) };
  }

  async #withoutTable(
    event: AttemptReport,
    known: NotificationCase | undefined,
    pathType: AlertType,
    log: Log,
  ): Promise<void> {
    const { kind, callId, attempt, speech = MESSAGE } = event;
    const fields = { call_id: callId, alert_type: pathType.name };
    if (kind === 'connected' || (kind === 'tone received' && event.isAwaiting === true)) {
      if (kind === 'tone received') this.#keepKey(event, pathType.name);
      // A line that waits has to be told again.
      if (this.#spokenTo.has(callId) && event.isAwaiting !== true) return;
      this.#noteSpokenTo(callId, { speech: MESSAGE, confirm: known?.notification.confirm === true });
      const alertType = (known && findAlertType(known.notification.alertType)) ?? pathType;
      const { line, serviceName } = this.#parts;
      try {
        const text = spokenMessage(serviceName, alertType, known?.notification);
        const hasKeys = known?.notification.confirm === true;
        const speaking = line.speak(callId, text, attempt && { ...attempt, speech: MESSAGE }, hasKeys);
        if (attempt !== undefined && known !== undefined) void this.#listen(attempt, known, callId, log);
        await speaking;
        log.info('message playing', fields);
      } catch (error) {
        // It may be speaking all the same: then its end hangs up.
        if (error instanceof PhoneLineError && error.failure === 'unanswered') return;
        log.error('message not played', { ...fields, ...failureFields(error) });
        await this.#endLine(callId, fields, log);
      }
    } else if (kind === 'tone received') {
      this.#keepKey(event, pathType.name);
    } else if (kind === 'play completed' || kind === 'play failed' || kind === 'play canceled') {
      const spoken = this.#spokenTo.get(callId);
      // Its end was brought about by the next speech.
      if (spoken !== undefined && speech < spoken.speech) return;
      if (kind !== 'play completed' || !isMessage(speech) || spoken?.confirm !== true) {
        await this.#endLine(callId, fields, log);
        return;
      }
      const { clock, line, log: ownLog } = this.#parts;
      void line.waitForKeys?.(callId);
      clock.after(KEYS_AFTER_MS, () => {
        if (this.#spokenTo.get(callId) === spoken) void this.#endLine(callId, fields, ownLog);
      });
    }
  }

  /** Without the table, a key that is an answer waits in this process until it can be written down. */
  #keepKey(event: AttemptReport, alertType: AlertTypeName): void {
    const answer = answerOfKey(event.key?.key);
    if (answer === undefined || answer === 'repeat') return;
    const { clock, log } = this.#parts;
    const fields = { call_id: event.callId, notification_id: event.attempt?.notificationId };
    const keptAt = clock.now();
    if (this.#keysKept >= MOST_KEYS_KEPT) {
      log.error('key lost', { ...fields, reason: 'too many wait for storage' });
      return;
    }
    this.#keysKept += 1;
    const write = async (): Promise<void> => {
      try {
        await this.#take({ ...event, isAwaiting: undefined }, alertType, log);
      } catch (error) {
        if (error instanceof StorageTrouble && clock.now() < keptAt + KEY_KEPT_MS) {
          clock.after(KEY_RETRY_MS, () => void write());
          return;
        }
        log.error('key lost', { ...fields, kind: errorKind(error) });
      }
      this.#keysKept -= 1;
    };
    clock.after(KEY_RETRY_MS, () => void write());
  }

  async #endLine(callId: CallId, fields: LogFields, log: Log): Promise<boolean> {
    try {
      await this.#parts.line.hangUp(callId);
      log.info('call hung up', fields);
      return true;
    } catch (error) {
      log.error('hang-up failed', { ...fields, ...failureFields(error) });
      return false;
    }
  }

  /** Does what a committed step asks for, and takes the answers as the next steps. Never throws: who looks later finds the rest. */
  async #carryOut(ref: RecipientRef, { stored, asks }: Committed, log: Log): Promise<void> {
    try {
      await Promise.all([
        ...asks.map(async ({ ask, attemptId }) => {
          const own = { ...ref, attemptId };
          if (ask === 'dial') await this.#dial(own, stored, log);
          else if (ask === 'speak') await this.#speak(own, stored, log);
          else if (ask === 'find') await this.#find(own, stored, log);
          else if (ask === 'wait for keys') this.#waitForKeys(own, stored);
          else await this.#hangUp(own, stored, log);
        }),
        this.#hangUpWhoRings(stored, log, ref.index),
      ]);
    } catch (error) {
      const fields = { notification_id: ref.notificationId, recipient_index: ref.index, kind: errorKind(error) };
      if (error instanceof StorageTrouble) log.warn('recipient not updated', fields);
      else log.error('unexpected error', fields);
    }
  }

  async #dial(ref: AttemptRef, stored: StoredCase, log: Log): Promise<void> {
    const { line, pause, clock } = this.#parts;
    const { alertType: type, callbackBaseUrl } = stored.notification;
    const attempt = attemptIn(stored, ref);
    const alertType = findAlertType(type);
    const number = stored.recipients[ref.index]?.number;
    if (attempt === undefined || alertType === undefined || number === undefined || isMaskedNumber(number)) return;
    const fields = attemptFields(stored, ref);
    const sentAt = clock.now();
    // Since the claim, others may have found that no line is free.
    if (pause.isOn(sentAt)) {
      await this.#answer(ref, { kind: 'not placed', why: 'no_line', result: { reason: pause.reason } }, log);
      return;
    }
    log.info('call requested', fields);
    let event: AttemptEvent;
    try {
      const firstSentAt = attempt.claimedAt;
      const callId = await line.call({ number, alertType, attempt: ref, firstSentAt, callbackBaseUrl });
      pause.accepted(sentAt);
      log.info('call placed', { ...fields, call_id: callId });
      event = { kind: 'placed', callId };
    } catch (error) {
      const why = error instanceof PhoneLineError ? NOT_PLACED[error.failure] : 'unclear';
      event = { kind: 'not placed', why, result: resultOf(error) };
      this.#pauseFor(why, error instanceof PhoneLineError ? error : {});
      if (why === 'no_line') log.warn('no line free', { ...fields, ...failureFields(error) });
      else log.error('call not placed', { ...fields, ...failureFields(error) });
    }
    await this.#answer(ref, event, log);
  }

  /** After a call request without an answer: whether there is a call all the same. */
  async #find(ref: AttemptRef, stored: StoredCase, log: Log): Promise<void> {
    const { line, store } = this.#parts;
    const attempt = attemptIn(stored, ref);
    const number = stored.recipients[ref.index]?.number;
    if (attempt === undefined || number === undefined || isMaskedNumber(number) || line.find === undefined) return;
    const fields = attemptFields(stored, ref);
    try {
      const found = await line.find(number, attempt.claimedAt);
      // The account is this service's alone: a call to the number that no attempt has is that of the request.
      const known = found.length === 0 ? new Set() : callIdsOf([stored, ...(await store.newest(MOST_COMPARED))]);
      const callId = found.find((one) => !known.has(one));
      log.warn(callId === undefined ? 'no call found' : 'call found', { ...fields, call_id: callId });
      await this.#answer(ref, callId === undefined ? { kind: 'not found' } : { kind: 'placed', callId }, log);
    } catch (error) {
      if (error instanceof StorageTrouble) throw error;
      // Whoever looks next asks again: nothing is sent before that.
      log.warn('call not looked for', { ...fields, ...failureFields(error) });
    }
  }

  async #speak(ref: AttemptRef, stored: StoredCase, log: Log): Promise<void> {
    const { line, serviceName } = this.#parts;
    const { notification, recipients } = stored;
    const attempt = attemptIn(stored, ref);
    const alertType = findAlertType(notification.alertType);
    if (attempt?.callId === undefined || alertType === undefined) return;
    const { callId } = attempt;
    const speech = speechNow(attempt);
    this.#noteSpokenTo(callId, { speech, confirm: notification.confirm === true });
    const fields = { ...attemptFields(stored, ref), ...(speech === MESSAGE ? {} : { speech: SPEECH_NAMES[speech] }) };
    const context = recipients[ref.index]?.number === undefined ? undefined : { ...ref, speech };
    const text = spokenText(speech, spokenMessage(serviceName, alertType, notification));
    const hasKeys = notification.confirm === true && answerBy(attempt) !== 'confirmed';
    const speaking = line.speak(callId, text, context, hasKeys);
    // Beside the message, which it never delays, and once: it goes on until the end of the call.
    const listening = speech === MESSAGE ? this.#listen(ref, stored, callId, log) : undefined;
    let event: AttemptEvent;
    try {
      const isStarted = (await speaking) === 'started';
      log.info('message playing', fields);
      event = { kind: 'speech accepted', speech, isStarted };
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
      if (why === 'failed' && speech === MESSAGE)
        log.error('message not played', { ...fields, ...failureFields(error) });
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
    const { clock, log } = this.#parts;
    const attempt = attemptIn(stored, ref);
    if (attempt?.quietSince === undefined) return;
    const { callId, quietSince } = attempt;
    if (callId !== undefined) void this.#parts.line.waitForKeys?.(callId);
    const end = async (): Promise<void> => {
      try {
        await this.#answer(ref, { kind: 'no key' }, log);
      } catch (error) {
        // Without the table the line is hung up all the same, unless another speech has begun.
        const known = this.#cases.recall(ref.notificationId);
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

  /** Who rings when a notification is stopped, or somebody else has confirmed, is hung up: one claimed step for each. */
  async #hangUpWhoRings(stored: StoredCase, log: Log, except?: number): Promise<void> {
    const ringing = stored.recipients.flatMap(({ isStopped, attempts }, index) =>
      index !== except && isStopped === true && attempts.some(({ state }) => state === 'placed') ? index : [],
    );
    const { id } = stored.notification;
    // All of them change the notification's row at their end: more at a time would only meet one another there.
    await pLimit(HUNG_UP_AT_A_TIME).map(ringing, async (index) => this.look({ notificationId: id, index }, log));
  }

  /** The answer of the line, as the next step. */
  async #answer(ref: AttemptRef, event: AttemptEvent, log: Log): Promise<void> {
    const done = await this.#change(
      ref,
      (recipient, terms, now) => afterEvent(recipient, ref.attemptId, event, terms, now),
      log,
    );
    if (done !== undefined) await this.#carryOut(ref, done, log);
  }

  async #postpone(ref: RecipientRef, log: Log): Promise<void> {
    const now = this.#parts.clock.now();
    const until = endOfDay(now);
    log.error('day limit reached', {
      notification_id: ref.notificationId,
      recipient_index: ref.index,
      until: new Date(until).toISOString(),
    });
    await this.#change(ref, (known, terms) => unchanged(postponed(known, until, CALLS_USED_UP, terms)), log);
  }

  /** What an event says about the line, and what a recipient's waiting means for the others. */
  #note(event: CallEvent, committed: Committed | undefined, ref: AttemptRef, log: Log): void {
    const { kind, callId, result } = event;
    const codes = { code: result.code, sub_code: result.subCode, reason: result.reason };
    const fields = { ...(committed && attemptFields(committed.stored, ref, callId)), call_id: callId };
    if (kind === 'play failed') log.error('message not played', { ...fields, ...codes });
    if (kind !== 'disconnected' && kind !== 'create failed') return;
    log.info('call disconnected', { ...fields, ...codes });
    if (kind !== 'create failed') return;
    if (result.meaning === 'no_line') this.#pauseFor('no_line', result);
    if (result.meaning !== 'set_up') return;
    this.#pauseFor('set_up', result);
    log.error('call not placed', { ...fields, ...codes });
  }

  #pauseFor(
    why: NotMade | 'refused' | 'unclear',
    { waitMs, reason }: { readonly waitMs?: number | undefined; readonly reason?: string | undefined },
  ): void {
    const { pause, alarm, clock } = this.#parts;
    if (why !== 'no_line' && why !== 'set_up') return;
    pause.throttled(why === 'set_up' ? SET_UP_RETRY_MS : waitMs, clock.now(), reason);
    alarm.set('line', pause.until);
  }

  #noteSpokenTo(callId: CallId, spoken: Spoken): void {
    this.#spokenTo.set(callId, spoken);
    const [oldest] = this.#spokenTo.keys();
    if (this.#spokenTo.size > MOST_SPOKEN_TO && oldest !== undefined) this.#spokenTo.delete(oldest);
  }

  #terms({ notification }: NotificationCase): ReachTerms {
    const { rules, serviceName } = this.#parts;
    const { attempts, retryMs, ringMs } = rules;
    const { confirm = false, deadlineAt } = notification;
    const alertType = findAlertType(notification.alertType);
    const message = alertType === undefined ? '' : spokenMessage(serviceName, alertType, notification);
    const unit = alertType === undefined ? '' : messageUnit(serviceName, alertType, notification);
    const durations = {
      ringMs,
      unitMs: surelySpokenMs(unit) + CLOCKS_DIFFER_MS,
      messageMs: longestSpeakingMs(message),
    };
    const { name, isIdempotent } = this.#parts.line;
    return { attempts, retryMs, confirm, deadlineAt, line: { name, isIdempotent }, ...durations };
  }

  /** A step of one recipient. */
  async #change(ref: RecipientRef, decide: Decide, log: Log): Promise<Committed | undefined> {
    return this.#cases.commit(ref.notificationId, keyOf(ref), this.#moveOf(ref, decide), log);
  }

  #moveOf({ index }: RecipientRef, decide: Decide): (known: NotificationCase) => Step {
    return (known) => {
      const now = this.#parts.clock.now();
      const recipient = known.recipients[index];
      if (recipient === undefined) return { next: known };
      const step = decide(recipient, this.#terms(known), now);
      return { ...step, next: step.next === recipient ? known : withRecipient(known, index, step.next, now) };
    };
  }
}

/** The newest notifications: those whose calls may be found beside the one that is looked for. */
const MOST_COMPARED = 100;

const callIdsOf = (known: readonly NotificationCase[]): ReadonlySet<CallId | undefined> =>
  new Set(known.flatMap(({ recipients }) => recipients.flatMap(({ attempts }) => attempts.map(({ callId }) => callId))));

const attended = (done: Committed | undefined): Attended =>
  done === undefined ? 'unknown' : done.isChanged ? 'moved' : done.stored;

const logLook = (stored: StoredCase, ref: RecipientRef, asks: RecipientStep['asks'], log: Log): void => {
  for (const { ask, attemptId } of asks) {
    const own = { ...ref, attemptId };
    const attempt = attemptIn(stored, own);
    const fields = attemptFields(stored, own);
    if (ask === 'dial') log.warn('call request unclear', fields);
    else if (attempt?.isUnanswered !== true) log.warn('call overdue', { ...fields, reason: attempt?.reason });
  }
};

/** Whether an attempt was under way at a time. @param tolerance how much later or earlier that may have been, in milliseconds */
const wasOpen = ({ claimedAt, endedAt = Infinity }: Attempt, at: number, tolerance: number): boolean =>
  claimedAt <= at + tolerance && endedAt > at - tolerance;

const resultOf = (error: unknown): CallResult =>
  error instanceof PhoneLineError
    ? { code: error.code, subCode: error.subCode, reason: error.reason }
    : { reason: 'unexpected error' };

/** In logs. */
const SPEECH_NAMES = { 1: 'repeat', 2: 'second repeat', 8: 'cannot go', 9: 'confirmed' } as const;

const NOT_PLACED: Readonly<Record<PhoneLineFailure, NotMade | 'refused' | 'unclear'>> = {
  throttled: 'no_line',
  'not sent': 'no_line',
  'set-up': 'set_up',
  refused: 'refused',
  gone: 'refused',
  unanswered: 'unclear',
};
