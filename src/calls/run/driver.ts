import type { AlertType } from '../model/alert-types.ts';
import { sleepBy } from '../model/clock.ts';
import { type AttemptRef, MESSAGE, type NotificationId } from '../model/ids.ts';
import type { CallEvent } from '../model/phone-line.ts';
import { callMessage, KEYS_AFTER_MS, spokenMessage } from '../rules/message.ts';
import { attemptFields, errorKind, logEvent, logNotUpdated, resultFields } from './call-log.ts';
import type { Cases, Context, Done } from './cases.ts';
import type { LineRequests } from './line-requests.ts';
import { RowlessCalls } from './rowless-calls.ts';
import { type Attempt, type AttemptEvent, type CallReport, talkOf } from '../state/attempt.ts';
import { attemptIn, type NotificationCase } from '../state/notification.ts';
import type { CallCommand } from '../state/step.ts';
import { isUnreadable, type StoredCase } from '../store/notification-store.ts';
import type { Log } from '../../log.ts';
import { StorageTrouble } from '../../storage/errors.ts';

/**
 * The line usually reports the start of a speech within 100 ms. The acceptance is written only if no event is written by then, to save a
 * request.
 */
const START_REPORTED_WITHIN_MS = 1_000;
/** How often storing a key is tried, and the pause between two tries. */
const KEY_TRIES = 6;
const KEY_PAUSE_MS = 500;
/** Timers fire a moment early. */
const TIMER_MS = 50;
/** How long the answer to a stop waits for hang-ups. */
const STOPPED_WITHIN_MS = 5_000;

const isReport = (event: CallEvent): event is CallEvent & CallReport => event.kind !== 'tone failed';

/** Carries events to requests to the line. An event is decided and committed first. Then the commands are carried out. */
export class Driver {
  readonly #context: Context;
  readonly #cases: Cases;
  readonly #requests: LineRequests;
  readonly #rowless: RowlessCalls;

  constructor(context: Context, cases: Cases, requests: LineRequests) {
    this.#context = context;
    this.#cases = cases;
    this.#requests = requests;
    this.#rowless = new RowlessCalls(context.line, requests);
  }

  /** Handles an event of the line. @returns false if storage could not be used: nothing was written */
  async handle(event: CallEvent, alertType: AlertType, log: Log): Promise<boolean> {
    if (!isReport(event)) {
      // Keys that were heard before count; the call continues.
      log.warn('keys not heard', { call_id: event.callId, ...resultFields(event.result) });
      return true;
    }
    const { attempt } = event;
    // Recalled first: a commit that fails forgets it.
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

  /** Storing a key is tried several times: the callee does not press it again. @returns whether the call is known */
  async #takePatiently(event: CallEvent & CallReport, ref: AttemptRef, log: Log): Promise<boolean> {
    for (let tried = 1; ; tried += 1) {
      try {
        const done = await this.#takeEvent(ref, event, log);
        if (done === undefined || done.isUnknown === true) return false;
        logEvent(event, done.isChanged, attemptFields(done.stored, ref), log);
        await this.carryOut(done, log);
        return true;
      } catch (error) {
        const isLast = event.kind !== 'tone received' || tried === KEY_TRIES;
        if (isLast || !(error instanceof StorageTrouble)) throw error;
        await sleepBy(this.#context.clock, KEY_PAUSE_MS);
      }
    }
  }

  async #takeEvent({ notificationId, index, attemptId }: AttemptRef, event: AttemptEvent, log: Log) {
    return this.#cases.take(notificationId, { kind: 'call', index, attemptId, event }, log);
  }

  async #withoutRow(event: CallEvent, known: NotificationCase | undefined, alertType: AlertType, log: Log) {
    const { serviceName } = this.#context.policy;
    const message = known === undefined ? callMessage(serviceName, alertType) : this.#requests.messageOf(known);
    await this.#rowless.handle(event, spokenMessage(message), alertType, log);
  }

  /** Stops a notification, and hangs up ringing calls. */
  async stop(id: NotificationId, log: Log): Promise<NotificationCase | undefined> {
    const { store, clock } = this.#context;
    const done = await this.#cases.take(id, { kind: 'stop' }, log);
    if (done === undefined) return undefined;
    await Promise.race([this.carryOut(done, log), sleepBy(clock, STOPPED_WITHIN_MS)]);
    return store.recall(id) ?? done.stored;
  }

  /** Carries out the commands of a commit, and takes the answers as the next events. Never throws: a later check retries. */
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
        return this.#answer(ref, await requests.find(ref, stored, log), log);
      case 'speak':
        return this.#speak(ref, stored, log);
      case 'wait for keys':
        return this.#waitForKeys(ref, stored);
      case 'hang up':
        return this.#answer(ref, await requests.hangUp(ref, stored, log), log);
    }
  }

  async #speak(ref: AttemptRef, stored: StoredCase, log: Log): Promise<void> {
    const speaking = this.#requests.speak(ref, stored, log);
    const attempt = attemptIn(stored, ref);
    // Requested once a call, and never before the message.
    const isFirst = attempt && talkOf(attempt)?.speech.number === MESSAGE;
    const listening = isFirst === true ? this.#requests.listen(ref, stored, log) : undefined;
    const event = await speaking;
    if (event?.kind === 'speech accepted') this.#noteAccepted(ref, event);
    else await this.#answer(ref, event, log);
    await listening;
  }

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

  /** After the last speech, waits for keys, and then hangs up. */
  #waitForKeys(ref: AttemptRef, stored: StoredCase): void {
    const { store, clock, log } = this.#context;
    const quietSince = quietSinceOf(attemptIn(stored, ref));
    if (quietSince === undefined) return;
    const end = async (): Promise<void> => {
      try {
        await this.#answer(ref, { kind: 'no key' }, log);
      } catch (error) {
        // Hang up even without storage, unless another speech has begun.
        const known = store.recall(ref.notificationId);
        const isStillQuiet = known === undefined || quietSinceOf(attemptIn(known, ref)) === quietSince;
        if (isStillQuiet) await this.#requests.hangUp(ref, stored, log);
        logNotUpdated(error, ref, log);
      }
    };
    clock.after(Math.max(1, quietSince + KEYS_AFTER_MS + TIMER_MS - clock.now()), () => void end());
  }

  /** Takes the answer of the line as the next event. */
  async #answer(ref: AttemptRef, event: AttemptEvent | undefined, log: Log): Promise<void> {
    const done = event && (await this.#takeEvent(ref, event, log));
    if (done !== undefined) await this.carryOut(done, log);
  }
}

const quietSinceOf = (attempt: Attempt | undefined): number | undefined =>
  attempt?.state === 'speaking' ? attempt.talk.quietSince : undefined;
