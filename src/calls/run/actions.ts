import pLimit from 'p-limit';
import { alertTypeOf } from '../model/alert-types.ts';
import {
  type AttemptRef,
  type CallId,
  GOODBYE_CANNOT_GO,
  GOODBYE_CONFIRMED,
  MESSAGE,
  type NotificationId,
  type PromptNumber,
} from '../model/ids.ts';
import type { HangUp } from '../model/phone-provider.ts';
import { callMessage, KEYS_AFTER_MS, spokenText } from '../rules/message.ts';
import {
  attemptFields,
  logNotPlaced,
  logNotPlayed,
  logNotUpdated,
  resultFields,
  resultOf,
  secondsToCall,
} from './call-log.ts';
import type { Claimed, Context, Notifications } from './notifications.ts';
import { type Attempt, type AttemptEvent, openCallIds, talkOf } from '../state/attempt.ts';
import { attemptIn, type NotificationCase } from '../state/notification.ts';
import { type Action, actionsOf } from '../state/step.ts';
import type { Log, LogFields } from '../../log.ts';

/** A process acts only within this time after its commit: later, a check of another process may have the action. */
const ACTS_WITHIN_MS = 5_000;
/**
 * The provider usually reports the start of a prompt within 100 ms. The acceptance is stored only if no event is stored by then, to save a
 * request.
 */
const START_REPORTED_WITHIN_MS = 1_000;
const HUNG_UP_AT_A_TIME = 16;
/** A timer may fire this early. */
const TIMER_MS = 50;

/** Dials, speaks, listens and hangs up for a commit. The answer of the provider is the next event. */
export class Actions {
  readonly #context: Context;
  readonly #notifications: Notifications;
  readonly #hangingUp = pLimit(HUNG_UP_AT_A_TIME);
  /** The actions of commits, and their notifications. */
  readonly #underWay = new Map<Promise<unknown>, NotificationId>();

  constructor(context: Context, notifications: Notifications) {
    this.#context = context;
    this.#notifications = notifications;
  }

  /** Carries out the actions of a commit. Fulfills when all are answered. Never throws: a later check retries. */
  async carryOut({ stored, commit, sentAt }: Claimed, log: Log): Promise<void> {
    const doing = Promise.all(actionsOf(stored, commit).map(async (action) => this.#do(action, stored, sentAt, log)));
    this.#underWay.set(doing, stored.notification.id);
    await doing;
    this.#underWay.delete(doing);
  }

  /** Fulfills when all requests to the provider are answered: about one notification, or about all. */
  async allAnswered(about?: NotificationId): Promise<void> {
    const left = () => [...this.#underWay].flatMap(([doing, id]) => (id === (about ?? id) ? doing : []));
    while (left().length > 0) await Promise.all(left());
  }

  async #do(action: Action, live: NotificationCase, sentAt: number, log: Log): Promise<void> {
    const attempt = attemptIn(live, action);
    if (attempt === undefined || this.#context.clock.steady() - sentAt > ACTS_WITHIN_MS) return;
    try {
      switch (action.kind) {
        case 'dial':
          return await this.#dial(action, attempt, live, log);
        case 'speak':
          await Promise.all([this.#speak(action, attempt, live, log), this.#askForKeys(action, attempt, live, log)]);
          return;
        case 'wait for keys':
          return this.#waitForKeys(action, attempt, live);
        case 'hang up':
          return await this.#hangUp(action, attempt, live, log);
      }
    } catch (error) {
      logNotUpdated(error, action, log);
    }
  }

  /** Stores the answer of the provider, and carries out what follows. */
  async #answer(ref: AttemptRef, event: AttemptEvent, log: Log): Promise<void> {
    const taken = await this.#notifications.report(ref, event, log);
    await taken?.acting;
  }

  /** Places the call of an attempt. */
  async #dial(ref: Action, attempt: Attempt, live: NotificationCase, log: Log): Promise<void> {
    const { provider, clock } = this.#context;
    const { callbackBaseUrl, alertType } = live.notification;
    const number = live.recipients[ref.index]?.number;
    if (number === undefined) return;
    const fields = attemptFields(live, ref);
    log.info('call requested', fields);
    const request = {
      number,
      alertType: alertTypeOf(alertType),
      message: this.#messageOf(live),
      attempt: ref,
      firstSentAt: attempt.claimedAt,
      callbackBaseUrl,
    };
    let event: AttemptEvent;
    try {
      const callId = await provider.call(request);
      log.info('call placed', { ...fields, call_id: callId, ...secondsToCall(live, clock.now()) });
      event = { kind: 'placed', callId };
    } catch (error) {
      const result = resultOf(error);
      logNotPlaced(result, fields, log);
      event = { kind: 'not placed', result };
    }
    await this.#answer(ref, event, log);
  }

  #messageOf({ notification }: NotificationCase) {
    return callMessage(this.#context.policy.serviceName, alertTypeOf(notification.alertType), notification);
  }

  /** Speaks the current prompt of an attempt. */
  async #speak(ref: Action, attempt: Attempt, live: NotificationCase, log: Log): Promise<void> {
    const callId = openCallIds(attempt).at(-1);
    const prompt = talkOf(attempt)?.prompt.number;
    if (callId === undefined || prompt === undefined) return;
    const fields = { ...attemptFields(live, ref), ...(prompt === MESSAGE ? {} : { prompt: PROMPT_NAMES[prompt] }) };
    try {
      await this.#context.provider.media?.speak(callId, spokenText(prompt, this.#messageOf(live)), {
        ...ref,
        prompt,
      });
    } catch (error) {
      const result = resultOf(error);
      const isSure = result.failure !== 'gone' && result.failure !== 'unanswered';
      if (isSure) logNotPlayed(result, fields, log);
      else log.warn('message perhaps not played', { ...fields, ...resultFields(result) });
      const reason = `message not played: ${result.reason}`;
      try {
        await this.#answer(ref, { kind: 'not spoken', prompt, result: { ...result, reason } }, log);
      } catch (trouble) {
        // Without storage, no process learns that the message failed: the callee would hear silence.
        if (isSure) await this.hangUpCall(callId, true, fields, log);
        throw trouble;
      }
      return;
    }
    log.info('message playing', fields);
    this.#noteAccepted(ref, prompt);
  }

  #noteAccepted(ref: Action, prompt: PromptNumber): void {
    const { clock, store, log } = this.#context;
    clock.after(START_REPORTED_WITHIN_MS, () => {
      const live = store.recall(ref.notificationId);
      const attempt = live && attemptIn(live, ref);
      const current = attempt?.state === 'speaking' ? attempt.talk.prompt : undefined;
      if (live !== undefined && (current?.number !== prompt || current.acceptedAt !== undefined)) return;
      this.#answer(ref, { kind: 'prompt accepted', prompt }, log).catch((error: unknown) =>
        logNotUpdated(error, ref, log),
      );
    });
  }

  /** With the message, asks the provider for keys. Never throws: if that fails, the call continues, unconfirmed. */
  async #askForKeys(ref: Action, attempt: Attempt, live: NotificationCase, log: Log): Promise<void> {
    const callId = openCallIds(attempt).at(-1);
    const number = live.recipients[ref.index]?.number;
    const isMessage = talkOf(attempt)?.prompt.number === MESSAGE;
    if (!live.notification.confirm || !isMessage || callId === undefined || number === undefined) return;
    try {
      await this.#context.provider.media?.listen(callId, number, ref);
    } catch (error) {
      log.warn('keys not heard', { ...attemptFields(live, ref), ...resultFields(resultOf(error)) });
    }
  }

  /** After the last word, waits for keys, and then hangs up: even without storage, unless another prompt has begun. */
  #waitForKeys(ref: Action, attempt: Attempt, live: NotificationCase): void {
    const { store, clock, log } = this.#context;
    const quietSince = talkOf(attempt)?.quietSince ?? clock.now();
    const end = async (): Promise<void> => {
      try {
        await this.#answer(ref, { kind: 'no key' }, log);
      } catch (error) {
        const now = store.recall(ref.notificationId);
        const current = now && attemptIn(now, ref);
        if (current === undefined || talkOf(current)?.quietSince === quietSince) {
          await this.#hangUpAll(attempt, attemptFields(live, ref), log);
        }
        logNotUpdated(error, ref, log);
      }
    };
    clock.after(Math.max(1, quietSince + KEYS_AFTER_MS + TIMER_MS - clock.now()), () => void end());
  }

  /** Hangs up all calls of an attempt. If one fails, the next check tries again. */
  async #hangUp(ref: Action, attempt: Attempt, live: NotificationCase, log: Log): Promise<void> {
    const ends = await this.#hangUpAll(attempt, attemptFields(live, ref), log);
    if (ends.includes(undefined)) return;
    const isGone = ends.length > 0 && ends.every((end) => end === 'gone');
    await this.#answer(ref, { kind: isGone ? 'gone' : 'hung up' }, log);
  }

  async #hangUpAll(attempt: Attempt, fields: LogFields, log: Log): Promise<readonly (HangUp | undefined)[]> {
    // Of an attempt that is over, only a new call is open.
    const calls = attempt.state === 'over' ? attempt.callIds.slice(-1) : openCallIds(attempt);
    const isAnswered = talkOf(attempt) !== undefined;
    return Promise.all(calls.map(async (callId) => this.hangUpCall(callId, isAnswered, fields, log)));
  }

  /** Hangs up a call. Never throws. @returns undefined if that failed */
  async hangUpCall(callId: CallId, isAnswered: boolean, fields: LogFields, log: Log): Promise<HangUp | undefined> {
    try {
      const end = await this.#hangingUp(async () => this.#context.provider.hangUp(callId, isAnswered));
      log.info('call hung up', { ...fields, call_id: callId });
      return end;
    } catch (error) {
      log.error('hang-up failed', { ...fields, call_id: callId, ...resultFields(resultOf(error)) });
      return undefined;
    }
  }
}

const PROMPT_NAMES: Readonly<Record<Exclude<PromptNumber, typeof MESSAGE>, string>> = {
  1: 'repeat',
  2: 'second repeat',
  [GOODBYE_CANNOT_GO]: 'cannot go',
  [GOODBYE_CONFIRMED]: 'confirmed',
};
