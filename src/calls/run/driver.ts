import type { Log } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import type { AlertType, AlertTypeName } from '../model/alert-types.ts';
import type { AttemptRef } from '../model/call-context.ts';
import type { CallEvent } from '../model/call-event.ts';
import type { CallId, NotificationId } from '../model/ids.ts';
import { type Clock, sleepBy } from '../model/clock.ts';
import { MESSAGE } from '../model/speech.ts';
import { KEYS_AFTER_MS } from '../rules/keys.ts';
import { type AttemptEvent, speechNow } from '../state/attempt.ts';
import { newForeignCall, foreignRef } from '../state/foreign-call.ts';
import { attemptIn, type NotificationCase } from '../state/notification.ts';
import { type Policy, step } from '../state/step.ts';
import type { RecipientRef, StoredCase } from '../store/case-rows.ts';
import type { NotificationStore } from '../store/notification-store.ts';
import type { OpenRow } from '../store/snapshot.ts';
import {
  attemptFields,
  errorKind,
  logEvent,
  logForbidden,
  logLook,
  logNotUpdated,
  logSilence,
  logUnreachable,
} from './call-log.ts';
import type { Cases, Done } from './cases.ts';
import { type AttemptReport, isKept, KeptReports } from './kept-reports.ts';
import type { LineRequests } from './line-requests.ts';

/** With what the driver talks to the line. */
export interface DriverParts {
  readonly line: LineRequests;
  readonly cases: Cases;
  readonly store: NotificationStore;
  readonly policy: Policy;
  readonly clock: Clock;
  /** For what happens outside any request. */
  readonly log: Log;
}

const isAboutAttempt = (event: CallEvent): event is CallEvent & AttemptReport => event.kind !== 'tone failed';

/** What attending to something due has come to: the notification if nothing was to be done. */
export type Attended = StoredCase | 'moved' | 'unknown';

// As a rule it takes some 100 ms. Whoever looks after a claim to speak does it after 20 s.
const START_REPORTED_WITHIN_MS = 1_000;
// A line that waits for what its call is to do gives up soon after.
const TOLD_WITHIN_MS = 3_000;
// The newest notifications: those whose calls may be found beside the one that is looked for.
const MOST_COMPARED = 100;
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
  /** Keys and ends of messages that were reported while the table was away. */
  readonly kept: KeptReports;

  constructor(parts: DriverParts) {
    this.#parts = parts;
    this.kept = new KeptReports(async (...report) => this.#take(...report), parts.clock, parts.log);
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
      await this.#inTime(event, this.#take(event, alertType.name, log));
    } catch (error) {
      logUnreachable(error, event, log);
      this.noteTrouble();
      if (isKept(event)) {
        // A line that asks what comes next has spoken, perhaps by the answer of another instance.
        if (event.isAwaiting === true) this.kept.keep({ ...event, kind: 'spoken to' }, alertType.name);
        this.kept.keep(event, alertType.name);
      }
      const isSpokenTo = await this.#parts.line.withoutTable(event, known, alertType, log);
      if (isSpokenTo) this.kept.keep({ ...event, kind: 'spoken to' }, alertType.name);
    }
  }

  /** A line that waits for what to do is not kept waiting by the table. @throws {StorageTrouble} if it takes too long */
  async #inTime({ isAwaiting }: AttemptReport, taking: Promise<void>): Promise<void> {
    if (isAwaiting !== true) return taking;
    const late = Promise.withResolvers<never>();
    const cancel = this.#parts.clock.after(TOLD_WITHIN_MS, () =>
      late.reject(new StorageTrouble(0, { reason: 'late' })),
    );
    try {
      return await Promise.race([taking, late.promise]);
    } finally {
      cancel();
    }
  }

  /** The table cannot be used now: others may speak meanwhile, and not be able to write it down. */
  noteTrouble(): void {
    this.#parts.cases.troubleAt = this.#parts.clock.now();
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
    const { attempt: named } = event;
    const known = named && (await this.#parts.cases.take(named.notificationId, named, event, log));
    const isOwn = named !== undefined && known !== undefined && known.isUnknown !== true;
    const ref = isOwn ? named : foreignRef(event.callId);
    const done = isOwn ? known : await this.#takeForeign(event, ref, alertType, log);
    if (done === undefined) return;
    logEvent(event, done, ref, log);
    await this.carryOut(done, log);
  }

  async #takeForeign(
    event: AttemptReport,
    ref: AttemptRef,
    alertType: AlertTypeName,
    log: Log,
  ): Promise<Done | undefined> {
    const { cases, store, clock, policy } = this.#parts;
    const take = async () => cases.take(ref.notificationId, ref, event, log);
    const found = await take();
    if (found !== undefined) return found;
    // Of a call that nobody knows, only what asks for something is written down, or what was done while it could not be.
    const now = clock.now();
    const { case: next, commands } = step(newForeignCall(event.callId, alertType, now), ref, event, { policy }, now);
    if (commands.length === 0 && event.kind !== 'spoken to') return undefined;
    try {
      const stored = await store.insertForeignCall(next, now);
      cases.remember(stored);
      return { stored, isChanged: true, commands };
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error;
      return take();
    }
  }

  /** Does what a decision asks for, and takes the answers as the next events. Never throws: who looks later finds the rest. */
  async carryOut({ stored, commands }: Done, log: Log): Promise<void> {
    const { id } = stored.notification;
    await Promise.all(
      commands.map(async ({ command, index, attemptId }) => {
        const ref = { notificationId: id, index, attemptId };
        try {
          if (command === 'dial') await this.#answer(ref, await this.#parts.line.dial(ref, stored, log), log);
          else if (command === 'speak') await this.#speak(ref, stored, log);
          else if (command === 'find') await this.#find(ref, stored, log);
          else if (command === 'wait for keys') this.#waitForKeys(ref, stored);
          else await this.#hangUp(ref, stored, log);
        } catch (error) {
          logNotUpdated(error, ref, log);
        }
      }),
    );
  }

  /** After a call request without an answer: whether there is a call all the same. */
  async #find(ref: AttemptRef, stored: StoredCase, log: Log): Promise<void> {
    const { line, store } = this.#parts;
    const found = await line.find(ref, stored, log);
    if (found === undefined) return;
    // The account is this service's alone: a call to the number that no attempt has is that of the request.
    const others = found.length === 0 ? [] : (await store.list({ most: MOST_COMPARED }, () => true)).found;
    const known = callIdsOf([stored, ...others]);
    const callId = found.find((one) => !known.has(one));
    const fields = { ...attemptFields(stored, ref), call_id: callId };
    log.warn(callId === undefined ? 'no call found' : 'call found', fields);
    await this.#answer(ref, callId === undefined ? { kind: 'not found' } : { kind: 'placed', callId }, log);
  }

  async #speak(ref: AttemptRef, stored: StoredCase, log: Log): Promise<void> {
    const { line } = this.#parts;
    const attempt = attemptIn(stored, ref);
    const speaking = line.speak(ref, stored, log);
    // Beside the message, which it never delays, and once: it goes on until the end of the call.
    const isFirst = attempt?.callId !== undefined && speechNow(attempt) === MESSAGE;
    const listening = isFirst ? line.listen(ref, stored, attempt.callId, log) : undefined;
    const event = await speaking;
    if (event?.kind === 'speech accepted' && event.isStarted !== true) this.#noteAccepted(ref, event);
    else await this.#answer(ref, event, log);
    await listening;
  }

  /** Written only if nothing that says more is written soon: that it has started, or what ends it. */
  #noteAccepted(ref: AttemptRef, event: AttemptEvent): void {
    const { clock, log } = this.#parts;
    clock.after(START_REPORTED_WITHIN_MS, () => {
      this.#answer(ref, event, log).catch((error: unknown) => logNotUpdated(error, ref, log));
    });
  }

  /** Nothing is spoken any more: the line is hung up when keys were waited for long enough. */
  #waitForKeys(ref: AttemptRef, stored: StoredCase): void {
    const { line, cases, clock, log } = this.#parts;
    const attempt = attemptIn(stored, ref);
    if (attempt?.quietSince === undefined) return;
    const { callId, quietSince } = attempt;
    if (callId !== undefined) void line.waitForKeys(callId);
    const end = async (): Promise<void> => {
      try {
        await this.#answer(ref, { kind: 'no key' }, log);
      } catch (error) {
        // Without the table the line is hung up all the same, unless another speech has begun.
        const known = cases.recall(ref.notificationId);
        const now = known && attemptIn(known, ref);
        if (callId !== undefined && (now === undefined || now.quietSince === quietSince)) {
          await line.hangUp(callId, attemptFields(stored, ref), log);
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
    const isDone = await this.#parts.line.hangUp(callId, attemptFields(stored, ref), log);
    if (isDone) await this.#answer(ref, { kind: 'hung up' }, log);
  }

  /** The answer of the line, as the next event. */
  async #answer(ref: AttemptRef, event: AttemptEvent | undefined, log: Log): Promise<void> {
    if (event === undefined) return;
    const done = await this.#parts.cases.take(ref.notificationId, ref, event, log);
    if (done === undefined) return;
    if (done.isFirstForbidden === true) logForbidden(done, ref, log);
    await this.carryOut(done, log);
  }
}

const callIdsOf = (known: readonly NotificationCase[]): ReadonlySet<CallId | undefined> =>
  new Set(
    known.flatMap(({ recipients }) => recipients.flatMap(({ attempts }) => attempts.map(({ callId }) => callId))),
  );
