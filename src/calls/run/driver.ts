import pLimit from 'p-limit';
import { type AlertType, alertTypeOf } from '../model/alert-types.ts';
import { sleepBy } from '../model/clock.ts';
import { type AttemptRef, type CallId, MESSAGE, type NotificationId, type PromptNumber } from '../model/ids.ts';
import type { CallEvent, CallMessage } from '../model/phone-provider.ts';
import { isMaskedNumber, type PhoneNumber } from '../model/phone-number.ts';
import { callMessage, KEYS_AFTER_MS, type MessageTerms, spokenMessage, spokenText } from '../rules/message.ts';
import {
  attemptFields,
  errorKind,
  logEvent,
  logNotPlayed,
  logNotUpdated,
  resultFields,
  resultOf,
  secondsToCall,
} from './call-log.ts';
import type { Cases, Context, Done } from './cases.ts';
import { rowlessCalls } from './rowless-calls.ts';
import { type Attempt, type AttemptEvent, type CallReport, talkOf } from '../state/attempt.ts';
import { attemptIn, type NotificationCase } from '../state/notification.ts';
import type { CallCommand } from '../state/step.ts';
import { isUnreadable, type StoredCase } from '../store/notification-store.ts';
import type { Log, LogFields } from '../../log.ts';
import { StorageTrouble } from '../../storage/errors.ts';

/**
 * The line usually reports the start of a speech within 100 ms. The acceptance is written only if no event is written by then, to save a
 * request.
 */
const START_REPORTED_WITHIN_MS = 1_000;
const HUNG_UP_AT_A_TIME = 16;
/** How often storing a key is tried, and the pause between two tries. */
const KEY_TRIES = 6;
const KEY_PAUSE_MS = 500;
/** Timers fire a moment early. */
const TIMER_MS = 50;
const STOPPED_WITHIN_MS = 5_000;

const isReport = (event: CallEvent): event is CallEvent & CallReport => event.kind !== 'tone failed';

/** Carries events to requests to the line. An event is decided and committed first. Then the commands are carried out. */
export class Driver {
  readonly #context: Context;
  readonly #cases: Cases;
  readonly #hangingUp = pLimit(HUNG_UP_AT_A_TIME);
  readonly #handleRowless: ReturnType<typeof rowlessCalls>;

  constructor(context: Context, cases: Cases) {
    this.#context = context;
    this.#cases = cases;
    this.#handleRowless = rowlessCalls(context.line, async (callId, fields, log) =>
      this.#hangUpCall(callId, true, fields, log),
    );
  }

  /** Handles an event of the line. Never throws. @returns false if it could not be stored */
  async handle(event: CallEvent, alertType: AlertType, log: Log): Promise<boolean> {
    const { attempt, callId, kind } = event;
    if (!isReport(event)) {
      // Keys that were heard before count; the call continues.
      log.warn('keys not heard', { call_id: callId, ...resultFields(event.result) });
      return true;
    }
    try {
      if (attempt !== undefined && (await this.#takePatiently(event, attempt, log))) return true;
      logEvent(event, true, { alert_type: alertType.name }, log);
      await this.#withoutRow(event, undefined, alertType, log);
      return true;
    } catch (error) {
      const fields = { call_id: callId, event_kind: kind, kind: errorKind(error) };
      if (error instanceof StorageTrouble || isUnreadable(error)) {
        log.warn(
          'call records unreachable',
          error instanceof StorageTrouble ? { ...fields, kind: error.reason } : fields,
        );
        await this.#withoutRow(event, attempt && this.#context.store.lastKnown(attempt.notificationId), alertType, log);
      } else log.error('unexpected error', fields);
      return false;
    }
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
    // Nothing listens for keys in such a call: the message does not ask for them.
    const message = this.#messageOf(known, alertType, { ...known?.notification, confirm: false });
    await this.#handleRowless(event, spokenMessage(message), alertType, log);
  }

  /**
   * The message of an attempt, or of the alert type if its notification does not exist or cannot be read. A line that asks for the message of
   * an attempt has heard a key in its call, which must listen for the next key.
   */
  async messageOf(attempt: AttemptRef | undefined, alertType: AlertType): Promise<CallMessage> {
    const { store } = this.#context;
    const unknown = { confirm: attempt !== undefined };
    try {
      const known = attempt && (store.lastKnown(attempt.notificationId) ?? (await store.load(attempt.notificationId)));
      return this.#messageOf(known, alertType, known?.notification ?? unknown);
    } catch (error) {
      if (error instanceof StorageTrouble || isUnreadable(error)) return this.#messageOf(undefined, alertType, unknown);
      throw error;
    }
  }

  #messageOf(
    known: NotificationCase | undefined,
    alertType: AlertType,
    terms: MessageTerms | undefined = known?.notification,
  ): CallMessage {
    return callMessage(this.#context.policy.serviceName, known === undefined ? alertType : typeOf(known), terms);
  }

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
    switch (ref.command) {
      case 'dial':
        return this.#answer(ref, await this.#dial(ref, stored, log), log);
      case 'find':
        return this.#answer(ref, await this.#find(ref, stored, log), log);
      case 'speak':
        await Promise.all([this.#speak(ref, stored, log), this.#listen(ref, stored, log)]);
        return undefined;
      case 'wait for keys':
        return this.#waitForKeys(ref, stored);
      case 'hang up':
        return this.#answer(ref, await this.#hangUp(ref, stored, log), log);
    }
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
        if (isStillQuiet) await this.#hangUp(ref, stored, log);
        logNotUpdated(error, ref, log);
      }
    };
    clock.after(Math.max(1, quietSince + KEYS_AFTER_MS + TIMER_MS - clock.now()), () => void end());
  }

  async #answer(ref: AttemptRef, event: AttemptEvent | undefined, log: Log): Promise<void> {
    const done = event && (await this.#takeEvent(ref, event, log));
    if (done !== undefined) await this.carryOut(done, log);
  }

  /** Places the call of an attempt. @returns undefined if its number is masked */
  async #dial(ref: AttemptRef, known: NotificationCase, log: Log): Promise<AttemptEvent | undefined> {
    const { line, clock } = this.#context;
    const { callbackBaseUrl } = known.notification;
    const alertType = typeOf(known);
    const firstSentAt = attemptIn(known, ref)?.claimedAt;
    const number = wholeNumberOf(known, ref);
    if (firstSentAt === undefined || number === undefined) return undefined;
    const fields = attemptFields(known, ref);
    log.info('call requested', fields);
    const message = this.#messageOf(known, alertType);
    try {
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

  /** After a call request without an answer: searches the line's list. @returns undefined if the line cannot tell now */
  async #find(ref: AttemptRef, known: NotificationCase, log: Log): Promise<AttemptEvent | undefined> {
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

  /** Speaks the current speech of an attempt. */
  async #speak(ref: AttemptRef, known: NotificationCase, log: Log): Promise<void> {
    const attempt = attemptIn(known, ref);
    const callId = attempt?.callIds.at(-1);
    const speech = attempt && talkOf(attempt)?.speech.number;
    if (callId === undefined || speech === undefined) return;
    const fields = { ...attemptFields(known, ref), ...(speech === MESSAGE ? {} : { speech: SPEECH_NAMES[speech] }) };
    try {
      await this.#context.line.media?.speak(callId, spokenText(speech, this.#messageOf(known, typeOf(known))), {
        ...ref,
        speech,
      });
      log.info('message playing', fields);
      this.#noteAccepted(ref, { kind: 'speech accepted', speech });
    } catch (error) {
      const result = resultOf(error);
      const isSure = result.failure !== 'gone' && result.failure !== 'unanswered';
      if (isSure) logNotPlayed(result, fields, log);
      else log.warn('message perhaps not played', { ...fields, ...resultFields(result) });
      const reason = `message not played: ${result.reason}`;
      await this.#answer(ref, { kind: 'not spoken', speech, result: { ...result, reason } }, log);
    }
  }

  /** With the message, listens for keys if it asks for them. Never throws: if that fails, the call continues, unconfirmed. */
  async #listen(ref: AttemptRef, known: NotificationCase, log: Log): Promise<void> {
    const attempt = attemptIn(known, ref);
    const callId = attempt?.callIds.at(-1);
    const number = wholeNumberOf(known, ref);
    const isMessage = attempt && talkOf(attempt)?.speech.number === MESSAGE;
    if (!known.notification.confirm || isMessage !== true || callId === undefined || number === undefined) return;
    try {
      await this.#context.line.media?.listen(callId, number, ref);
    } catch (error) {
      log.warn('keys not heard', { ...attemptFields(known, ref), ...resultFields(resultOf(error)) });
    }
  }

  /** Hangs up all calls of an attempt. @returns undefined if a hang-up failed: the next check tries again */
  async #hangUp(ref: AttemptRef, known: NotificationCase, log: Log): Promise<AttemptEvent | undefined> {
    const attempt = attemptIn(known, ref);
    const isAnswered = attempt !== undefined && talkOf(attempt) !== undefined;
    const fields = attemptFields(known, ref);
    const calls = attempt?.callIds ?? [];
    const done = await Promise.all(calls.map(async (callId) => this.#hangUpCall(callId, isAnswered, fields, log)));
    return done.every(Boolean) ? { kind: 'hung up' } : undefined;
  }

  /** Hangs up a call. Never throws. @returns whether that succeeded */
  async #hangUpCall(callId: CallId, isAnswered: boolean, fields: LogFields, log: Log): Promise<boolean> {
    try {
      await this.#hangingUp(async () => this.#context.line.hangUp(callId, isAnswered));
      log.info('call hung up', { ...fields, call_id: callId });
      return true;
    } catch (error) {
      log.error('hang-up failed', { ...fields, call_id: callId, ...resultFields(resultOf(error)) });
      return false;
    }
  }
}

const quietSinceOf = (attempt: Attempt | undefined): number | undefined =>
  attempt?.state === 'speaking' ? attempt.talk.quietSince : undefined;

const typeOf = ({ notification }: NotificationCase): AlertType => alertTypeOf(notification.alertType);

const callIdsOf = ({ recipients }: NotificationCase) =>
  recipients.flatMap(({ attempts }) => attempts.flatMap(({ callIds }) => callIds));

const SPEECH_NAMES: Readonly<Record<Exclude<PromptNumber, typeof MESSAGE>, string>> = {
  1: 'repeat',
  2: 'second repeat',
  8: 'cannot go',
  9: 'confirmed',
};

const wholeNumberOf = ({ recipients }: NotificationCase, { index }: AttemptRef): PhoneNumber | undefined => {
  const number = recipients[index]?.number;
  return number === undefined || isMaskedNumber(number) ? undefined : number;
};
