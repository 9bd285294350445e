import type { AlertType } from '../model/alert-types.ts';
import { sleepBy } from '../model/clock.ts';
import { type AttemptRef, MESSAGE, type NotificationId } from '../model/ids.ts';
import type { CallEvent } from '../model/phone-line.ts';
import { callMessage, KEYS_AFTER_MS, spokenMessage } from '../rules/message.ts';
import { attemptFields, errorKind, logEvent, logNotUpdated } from './call-log.ts';
import type { Cases, Context, Done } from './cases.ts';
import type { LineRequests } from './line-requests.ts';
import { RowlessCalls } from './rowless-calls.ts';
import { type Attempt, type AttemptEvent, type CallReport, talkOf } from '../state/attempt.ts';
import { attemptIn, type NotificationCase } from '../state/notification.ts';
import type { CallCommand } from '../state/step.ts';
import { isUnreadable, type StoredCase } from '../store/notification-store.ts';
import type { Log } from '../../log.ts';
import { StorageTrouble } from '../../storage/errors.ts';

/** The line reports the start of a speech within 100 ms as a rule. Its acceptance is written only if nothing else is. */
const START_REPORTED_WITHIN_MS = 1_000;
/** How often a key is tried to be stored, and the pause between two tries. */
const KEY_TRIES = 6;
const KEY_PAUSE_MS = 500;
/** Timers fire a moment early. */
const TIMER_MS = 50;
/** A request to stop is answered then, though some hang-ups may not be. */
const STOPPED_WITHIN_MS = 5_000;

const isReport = (event: CallEvent): event is CallEvent & CallReport => event.kind !== 'tone failed';

/**
 * From what happens to requests to the line. Each event is decided and committed, and only then it dials, speaks or hangs up; the answer is the
 * next event.
 */
export class Driver {
  readonly #context: Context;
  readonly #cases: Cases;
  readonly #requests: LineRequests;
  readonly #rowless: RowlessCalls;

  constructor(context: Context, cases: Cases, requests: LineRequests) {
    this.#context = context;
    this.#cases = cases;
    this.#requests = requests;
    this.#rowless = new RowlessCalls(context.line);
  }

  /** What the line reports. @returns false if storage could not be used: nothing was written */
  async handle(event: CallEvent, alertType: AlertType, log: Log): Promise<boolean> {
    if (!isReport(event)) {
      // What was heard until then counts; the call goes on.
      const { code, subCode, reason } = event.result;
      log.warn('keys not heard', { call_id: event.callId, code, sub_code: subCode, reason });
      return true;
    }
    const { attempt } = event;
    // A step that fails forgets what was remembered.
    const known = attempt && this.#context.store.recall(attempt.notificationId);
    try {
      if (attempt !== undefined && (await this.#takePatiently(event, attempt, log))) return true;
    } catch (error) {
      if (!(error instanceof StorageTrouble) && !isUnreadable(error)) throw error;
      const kind = error instanceof StorageTrouble ? error.reason : errorKind(error);
      log.warn('call records unreachable', { call_id: event.callId, event_kind: event.kind, kind });
      await this.#withoutRow(event, known, alertType, log);
      return false;
    }
    logEvent(event, true, { alert_type: alertType.name }, log);
    await this.#withoutRow(event, undefined, alertType, log);
    return true;
  }

  /** A key is worth waiting for: nobody presses it again. @returns whether the call is known */
  async #takePatiently(event: CallEvent & CallReport, ref: AttemptRef, log: Log): Promise<boolean> {
    for (let tried = 1; ; tried += 1) {
      try {
        return await this.#take(event, ref, log);
      } catch (error) {
        const isLast = event.kind !== 'tone received' || tried === KEY_TRIES;
        if (isLast || !(error instanceof StorageTrouble)) throw error;
        await sleepBy(this.#context.clock, KEY_PAUSE_MS);
      }
    }
  }

  async #take(event: CallEvent & CallReport, ref: AttemptRef, log: Log): Promise<boolean> {
    const done = await this.#takeEvent(ref, event, log);
    if (done === undefined || done.isUnknown === true) return false;
    logEvent(event, done.isChanged, attemptFields(done.stored, ref), log);
    await this.carryOut(done, log);
    return true;
  }

  async #takeEvent(
    { notificationId, index, attemptId }: AttemptRef,
    event: AttemptEvent,
    log: Log,
  ): Promise<Done | undefined> {
    return this.#cases.take(notificationId, { kind: 'call', index, attemptId, event }, log);
  }

  async #withoutRow(
    event: CallEvent,
    known: NotificationCase | undefined,
    alertType: AlertType,
    log: Log,
  ): Promise<void> {
    const { serviceName } = this.#context.policy;
    const message = known === undefined ? callMessage(serviceName, alertType) : this.#requests.messageOf(known);
    await this.#rowless.handle(event, spokenMessage(message), alertType, log);
  }

  /** Stops a notification, and hangs up ringing calls. Answers it as it stands then; undefined if there is none. */
  async stop(id: NotificationId, log: Log): Promise<NotificationCase | undefined> {
    const { store, clock } = this.#context;
    const done = await this.#cases.take(id, { kind: 'stop' }, log);
    if (done === undefined) return undefined;
    await Promise.race([this.carryOut(done, log), sleepBy(clock, STOPPED_WITHIN_MS)]);
    return store.recall(id) ?? done.stored;
  }

  /** Does what a commit asks for, and takes the answers as the next events. Never throws: a later check finds the rest. */
  async carryOut({ stored, commands }: Pick<Done, 'stored' | 'commands'>, log: Log): Promise<void> {
    await Promise.all(
      commands.map(async (one) => {
        try {
          await this.#do(one, stored, log);
        } catch (error) {
          logNotUpdated(error, one, log);
        }
      }),
    );
  }

  async #do(ref: CallCommand, stored: StoredCase, log: Log): Promise<void> {
    const requests = this.#requests;
    switch (ref.command) {
      case 'dial':
        return this.#answer(ref, await requests.dial(ref, stored, log), log);
      case 'find':
        return this.#find(ref, stored, log);
      case 'speak':
        return this.#speak(ref, stored, log);
      case 'wait for keys':
        return this.#waitForKeys(ref, stored);
      case 'hang up':
        // If that fails, the next check tries again.
        return (await requests.hangUp(ref, stored, log)) ? this.#answer(ref, { kind: 'hung up' }, log) : undefined;
    }
  }

  /** After a call request without an answer: whether there is a call all the same. Only one call to the number can be this attempt's. */
  async #find(ref: AttemptRef, stored: StoredCase, log: Log): Promise<void> {
    const { store, clock } = this.#context;
    const found = await this.#requests.find(ref, stored, log);
    if (found === undefined) return;
    const { live } = found.length === 0 ? { live: [] } : await store.look(clock.now());
    const known = new Set(live.flatMap(callIdsOf));
    const callId = found.find((one) => !known.has(one));
    log.warn(callId === undefined ? 'no call found' : 'call found', { ...attemptFields(stored, ref), call_id: callId });
    await this.#answer(ref, callId === undefined ? { kind: 'not found' } : { kind: 'placed', callId }, log);
  }

  async #speak(ref: AttemptRef, stored: StoredCase, log: Log): Promise<void> {
    const speaking = this.#requests.speak(ref, stored, log);
    // Beside the message, which it never delays, and once: it goes on until the end of the call.
    const isFirst = speechOf(attemptIn(stored, ref)) === MESSAGE;
    const listening = isFirst ? this.#requests.listen(ref, stored, log) : undefined;
    const event = await speaking;
    if (event?.kind === 'speech accepted') this.#noteAccepted(ref, event);
    else await this.#answer(ref, event, log);
    await listening;
  }

  /** Written only if nothing that says more is written soon: that it has started, or what ends it. */
  #noteAccepted(ref: AttemptRef, event: Extract<AttemptEvent, { kind: 'speech accepted' }>): void {
    const { clock, store, log } = this.#context;
    clock.after(START_REPORTED_WITHIN_MS, () => {
      const known = store.recall(ref.notificationId);
      const attempt = known && attemptIn(known, ref);
      const speech = attempt?.state === 'speaking' ? attempt.talk.speech : undefined;
      if (known !== undefined && (speech?.number !== event.speech || speech.acceptedAt !== undefined)) return;
      this.#answer(ref, event, log).catch((error: unknown) => logNotUpdated(error, ref, log));
    });
  }

  /** Nothing is spoken any more: the line is hung up when keys were waited for long enough. */
  #waitForKeys(ref: AttemptRef, stored: StoredCase): void {
    const { store, clock, log } = this.#context;
    const quietSince = quietSinceOf(attemptIn(stored, ref));
    if (quietSince === undefined) return;
    const end = async (): Promise<void> => {
      try {
        await this.#answer(ref, { kind: 'no key' }, log);
      } catch (error) {
        // Without storage the line is hung up all the same, unless another speech has begun.
        const known = store.recall(ref.notificationId);
        const isStillQuiet = known === undefined || quietSinceOf(attemptIn(known, ref)) === quietSince;
        if (isStillQuiet) await this.#requests.hangUp(ref, stored, log);
        logNotUpdated(error, ref, log);
      }
    };
    clock.after(Math.max(1, quietSince + KEYS_AFTER_MS + TIMER_MS - clock.now()), () => void end());
  }

  /** The answer of the line, as the next event. */
  async #answer(ref: AttemptRef, event: AttemptEvent | undefined, log: Log): Promise<void> {
    const done = event && (await this.#takeEvent(ref, event, log));
    if (done !== undefined) await this.carryOut(done, log);
  }
}

const callIdsOf = ({ recipients }: NotificationCase) =>
  recipients.flatMap(({ attempts }) => attempts.flatMap(({ callIds }) => callIds));

const speechOf = (attempt: Attempt | undefined) => attempt && talkOf(attempt)?.speech.number;

const quietSinceOf = (attempt: Attempt | undefined): number | undefined =>
  attempt?.state === 'speaking' ? attempt.talk.quietSince : undefined;
