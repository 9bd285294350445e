import { LRUCache } from 'lru-cache';
import { type AlertType, alertTypeOf } from '../model/alert-types.ts';
import { type AttemptRef, type CallId, MESSAGE } from '../model/ids.ts';
import type { CallEvent } from '../model/phone-provider.ts';
import { callMessage, spokenMessage } from '../rules/message.ts';
import { KEYS_COUNT_FOR_MS } from '../rules/retention.ts';
import type { Actions } from './actions.ts';
import { attemptFields, errorKind, logEvent, logNotPlayed, logNotUpdated, resultFields, resultOf } from './call-log.ts';
import type { Context, Notifications } from './notifications.ts';
import type { CallReport } from '../state/attempt.ts';
import { type AnyCase, attemptIn } from '../state/notification.ts';
import { isUnreadable, SetAside } from '../store/store.ts';
import type { Log } from '../../log.ts';
import { StorageTrouble } from '../../storage/errors.ts';

/** Enough for the calls of some hours. An entry is a text of 40 characters. */
const MAX_REMEMBERED = 10_000;

const isReport = (event: CallEvent): event is CallEvent & CallReport => event.kind !== 'tone failed';

/**
 * Takes the events of calls to their notifications. For calls without a row there is one rule: calls of other systems, and all calls whose
 * notification cannot be used now. When a callee answers, the message is spoken, once per call and process. At its end the call is hung up.
 * Nothing is stored.
 */
export class CallEvents {
  readonly #context: Context;
  readonly #notifications: Notifications;
  readonly #actions: Actions;
  readonly #spokenTo = new LRUCache<CallId, true>({ max: MAX_REMEMBERED });

  constructor(context: Context, notifications: Notifications, actions: Actions) {
    this.#context = context;
    this.#notifications = notifications;
    this.#actions = actions;
  }

  /** Handles an event of the provider. Never throws. @returns false if it could not be stored */
  async handle(event: CallEvent, alertType: AlertType, log: Log): Promise<boolean> {
    const { attempt, callId, kind } = event;
    if (!isReport(event)) {
      // Keys that were heard before count; the call continues.
      log.warn('keys not heard', { call_id: callId, ...resultFields(event.result) });
      return true;
    }
    try {
      if (attempt !== undefined && (await this.#take(event, attempt, log))) return true;
      logEvent(event, true, { alert_type: alertType.name }, log);
      await this.#withoutRow(event, alertType, log);
      return true;
    } catch (error) {
      const fields = { call_id: callId, event_kind: kind };
      if (error instanceof StorageTrouble || error instanceof SetAside || isUnreadable(error)) {
        const reason = error instanceof StorageTrouble ? error.reason : errorKind(error);
        log.warn('call records unreachable', { ...fields, kind: reason });
        await this.#withoutRow(event, alertType, log);
        if (!(error instanceof StorageTrouble)) await this.#releaseSlot(event, log);
      } else log.error('unexpected error', { ...fields, kind: errorKind(error) });
      return false;
    }
  }

  /** @returns whether a stored attempt has placed the call */
  async #take(event: CallEvent & CallReport, ref: AttemptRef, log: Log): Promise<boolean> {
    const { notificationId, index, attemptId } = ref;
    const taken = await this.#notifications.take(notificationId, { kind: 'call', index, attemptId, event }, log);
    if (taken === undefined) return this.#isSettled(event, ref, log);
    if (attemptIn(taken.stored, ref) === undefined) return false;
    logEvent(event, taken.isNews, attemptFields(taken.stored, ref), log);
    this.#logLateKey(event, taken.stored, ref, log);
    await taken.acting;
    return true;
  }

  /** An event minutes after the end: a new call of a settled notification is hung up, and a key is dropped. */
  async #isSettled(event: CallEvent & CallReport, ref: AttemptRef, log: Log): Promise<boolean> {
    const settled = await this.#context.store.loadSettled(ref.notificationId);
    if (settled === undefined) return false;
    const fields = attemptFields(settled, ref);
    logEvent(event, false, fields, log);
    this.#logLateKey(event, settled, ref, log);
    if (event.kind === 'connected') await this.#actions.hangUpCall(event.callId, true, fields, log);
    return true;
  }

  #logLateKey({ kind, callId }: CallEvent, stored: AnyCase, ref: AttemptRef, log: Log): void {
    const attempt = attemptIn(stored, ref);
    const isLate = attempt?.state === 'over' && this.#context.clock.now() - attempt.endedAt > KEYS_COUNT_FOR_MS;
    if (kind !== 'tone received' || !isLate) return;
    log.warn('key came too late', { ...attemptFields(stored, ref), call_id: callId });
  }

  /** The call of a notification that cannot be used has ended: its line is free for the others. */
  async #releaseSlot({ kind, attempt }: CallEvent, log: Log): Promise<void> {
    if (attempt === undefined || (kind !== 'disconnected' && kind !== 'create failed')) return;
    try {
      await this.#notifications.releaseSlot(attempt.attemptId);
    } catch (error) {
      logNotUpdated(error, attempt, log);
    }
  }

  /** With the details, if this process has ever read the notification. Nothing listens for keys, so the message does not ask for keys. */
  #textFor({ attempt }: CallEvent, alertType: AlertType): string {
    const { store, policy } = this.#context;
    const spoken = attempt && store.spokenOf(attempt.notificationId);
    const type = spoken === undefined ? alertType : alertTypeOf(spoken.alertType);
    return spokenMessage(callMessage(policy.serviceName, type, { details: spoken?.details }));
  }

  async #withoutRow(event: CallEvent, alertType: AlertType, log: Log): Promise<void> {
    const { media } = this.#context.provider;
    const { kind, callId, prompt = MESSAGE } = event;
    // If the message went with the call request, the call speaks and ends by itself.
    if (media === undefined) return;
    const fields = { call_id: callId, alert_type: alertType.name };
    if (kind === 'connected' && !this.#spokenTo.has(callId)) {
      this.#spokenTo.set(callId, true);
      try {
        await media.speak(callId, this.#textFor(event, alertType), event.attempt && { ...event.attempt, prompt });
        log.info('message playing', fields);
      } catch (error) {
        const result = resultOf(error);
        // The message may be playing.
        if (result.failure === 'unanswered') return;
        logNotPlayed(result, fields, log);
        await this.#actions.hangUpCall(callId, true, fields, log);
      }
    } else if (kind === 'play completed' || kind === 'play failed' || kind === 'play canceled') {
      if (kind === 'play failed') logNotPlayed(event.result, fields, log);
      await this.#actions.hangUpCall(callId, true, fields, log);
    }
  }
}
