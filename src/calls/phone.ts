import { randomUUID } from 'node:crypto';

import pLimit from 'p-limit';

import type { Log } from '../log.ts';
import { StorageTrouble } from '../storage/errors.ts';
import type { Table } from '../storage/table.ts';
import { Alarm } from './alarm.ts';
import { type AlertType, isUrgent } from './alert-types.ts';
import type { CallEvent } from './call-event.ts';
import type { CallId } from './call-id.ts';
import { errorKind } from './call-log.ts';
import { type Clock, systemClock } from './clock.ts';
import { Driver } from './driver.ts';
import { DueWork } from './due.ts';
import { keyUse } from './idempotency.ts';
import { LinePause } from './lines.ts';
import { type NotificationCase, newNotification } from './notification.ts';
import { newNotificationId, type NotificationId } from './notification-id.ts';
import type { OutcomeTopic } from './outcome-events.ts';
import type { PhoneLine } from './phone-line.ts';
import type { PhoneNumber } from './phone-number.ts';
import { Publisher, type PublisherParts } from './publisher.ts';
import type { Recipient } from './recipient.ts';
import { type Created, NotificationStore, untilCommitted } from './store/notification-store.ts';
import { isStranger } from './stranger.ts';
import { type NotificationView, viewOf } from './view.ts';

/** How people are called. Times are in milliseconds. */
export interface PhoneRules {
  /** Calls to one person at most, those included of which nothing was heard. Waiting for a free line costs none. */
  readonly attempts: number;
  /** From the end of an attempt to the next one. */
  readonly retryMs: number;
  /** From a request to its last attempt. */
  readonly deadlineMs: number;
  /** How long a phone rings before the line is hung up. */
  readonly ringMs: number;
  /** How the numbers that may be called begin; undefined: all of them. */
  readonly allowedPrefixes: readonly string[] | undefined;
  /** Of a UTC day; a fifth of them is kept for urgent alert types. */
  readonly callsPerDay: number;
  /** How long rows about calls are kept. */
  readonly retentionMs: number;
}

/** What the phone is made of. */
export interface PhoneParts {
  readonly line: PhoneLine;
  /** The table `calls`. */
  readonly table: Table;
  /** Spoken in the message. */
  readonly serviceName: string;
  readonly rules: PhoneRules;
  /** Where outcomes are published; undefined: nowhere. */
  readonly topic?: OutcomeTopic | undefined;
  /** A notification as `GET` answers it; needed with a topic. */
  readonly bodyOf?: PublisherParts['bodyOf'] | undefined;
  /** For what happens outside any request. */
  readonly log: Log;
  /** By default the clock of this machine. */
  readonly clock?: Clock;
  /** From 0 to 1, for the jitter of pauses; by default `Math.random`. */
  readonly random?: () => number;
  /** A new UUID, for attempts and notifications; by default `randomUUID`. */
  readonly newId?: () => string;
}

/** What a notification request asks for. Two requests that ask for the same are the same request. */
export interface NotificationRequest {
  readonly alertType: AlertType;
  /** In waves; without waves there is one. All numbers are distinct. */
  readonly waves: readonly (readonly PhoneNumber[])[];
  /** Shown, never spoken. */
  readonly reference?: string | undefined;
  /** Whether somebody has to press a key. */
  readonly confirm?: boolean | undefined;
  /**
   * From one wave to the next, in milliseconds. With it, the first confirmation stops the rest; without it there are no waves, and each
   * recipient is to confirm.
   */
  readonly waveMs?: number | undefined;
  /** Where the events of its calls go, if not to the usual place. */
  readonly callbackBaseUrl?: string | undefined;
}

/** What became of a notification request. */
export type Sent =
  | { readonly kind: 'sent'; readonly id: NotificationId; readonly calls: readonly SentCall[] }
  /** Our own policy refuses all recipients: the allowed prefixes, or the day's limit. Nothing was written down. */
  | { readonly kind: 'refused'; readonly calls: readonly SentCall[] }
  /** The last wave would begin after the deadline. */
  | { readonly kind: 'waves too late' }
  /** The key was used before, for another request. */
  | { readonly kind: 'key of another request' };

/** What became of one recipient within the request, in the order of the request. */
export type SentCall =
  | { readonly recipient: PhoneNumber; readonly status: 'placed'; readonly callId: CallId }
  | { readonly recipient: PhoneNumber; readonly status: 'waiting' | 'failed'; readonly reason: string };

/** What endpoints and the timer function use of the phone. */
export interface Phone {
  /**
   * Writes a notification down and dials its recipients. A request whose key was used for the same within 24 hours finds that
   * notification as it stands, and phones nobody anew.
   *
   * @param key the caller's `Idempotency-Key`
   * @throws {StorageTrouble} nothing is dialled; the same request may be sent again
   */
  send(request: NotificationRequest, key: string | undefined, log: Log): Promise<Sent>;

  /** A notification as it stands; undefined if there is none. @throws {StorageTrouble} */
  read(id: NotificationId): Promise<NotificationView | undefined>;

  /** The newest notifications as they stand, the newest first. @throws {StorageTrouble} */
  newest(most: number): Promise<readonly NotificationView[]>;

  /** Stops a notification: nobody is dialled any more. Answers it as it stands then; undefined if there is none. @throws {StorageTrouble} */
  stop(id: NotificationId, log: Log): Promise<NotificationView | undefined>;

  /**
   * Does what a callback's events ask for: those of one call in order. Never throws; without the table, speaks and hangs up all the same.
   *
   * @param alertType that of the callback path; a known call is spoken to in the words of its own notification
   */
  handle(events: readonly CallEvent[], alertType: AlertType, log: Log): Promise<void>;

  /** Does what is due now, in this process once at a time. Never throws. */
  runDue(log: Log): Promise<void>;

  /** Fulfils when nothing is under way. */
  settled(): Promise<void>;
}

// A real callback has one event. More are handled too, within bounds: the sender may be anyone.
const CALLS_AT_A_TIME = 8;
const NO_MORE_EVENTS_AFTER_MS = 60_000;
// Some seconds of outage are waited for.
const WRITTEN_WITHIN_MS = 8_000;
const PAUSE_MS = 300;
// The answer to a request does not wait longer for those beyond the first calls.
const DIALLED_WITHIN_MS = 8_000;

/** Puts the parts of this folder together. */
export const createPhone = (parts: PhoneParts): Phone => {
  const { line, table, serviceName, rules, topic, bodyOf, log: ownLog } = parts;
  const { clock = systemClock, random = Math.random, newId = randomUUID } = parts;
  const { callsPerDay, retentionMs } = rules;
  const isPublishing = topic !== undefined;
  const store = new NotificationStore({ table, callsPerDay, retentionMs, isPublishing, newId });
  const alarm = new Alarm(clock);
  const pause = new LinePause();
  const driver = new Driver({ line, store, serviceName, rules, pause, alarm, clock, random, newId });
  const publisher =
    topic === undefined || bodyOf === undefined ? undefined : new Publisher({ topic, store, clock, bodyOf });
  const due = new DueWork({ store, driver, pause, alarm, clock, publisher });
  alarm.onRing(() => {
    void due.run(ownLog);
  });
  const sleep = async (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));

  /** Some seconds of trouble are waited for; a try that was carried out is found by the next one. */
  const create = async (id: NotificationId, request: NotificationRequest, key: string | undefined): Promise<Created> => {
    const { alertType, waves, reference, confirm, waveMs, callbackBaseUrl } = request;
    const now = clock.now();
    const use = key === undefined ? undefined : keyUse(key, request);
    const keyHash = use?.keyHash;
    const notification = {
      id,
      alertType: alertType.name,
      reference,
      createdAt: now,
      confirm,
      waveMs,
      callbackBaseUrl,
      keyHash,
    };
    const { deadlineMs, allowedPrefixes } = rules;
    const make = (callsLeft: number): NotificationCase =>
      newNotification({ notification, waves, deadlineMs, allowedPrefixes, callsLeft, newId }, now);
    for (;;) {
      try {
        return await untilCommitted(
          async () => store.create(id, make, isUrgent(alertType.name), use, now),
          { random, sleep },
        );
      } catch (error) {
        if (!(error instanceof StorageTrouble) || clock.now() + PAUSE_MS > now + WRITTEN_WITHIN_MS) throw error;
        await sleep(PAUSE_MS);
      }
    }
  };

  const send: Phone['send'] = async (request, key, log) => {
    const { waves, waveMs = 0 } = request;
    if ((waves.length - 1) * waveMs >= rules.deadlineMs) return { kind: 'waves too late' };
    const numbers = waves.flat();
    const id = newNotificationId(clock.now(), newId());
    const created = await create(id, request, key);
    switch (created.kind) {
      case 'refused':
        log.error('notification refused', { alert_type: request.alertType.name, reason: created.known.recipients[0]?.attempts[0]?.reason });
        return { kind: 'refused', calls: callsOf(numbers, created.known) };
      case 'key used': {
        const { notificationId, fingerprint } = created.earlier;
        if (key === undefined || fingerprint !== keyUse(key, request).fingerprint) return { kind: 'key of another request' };
        const known = await driver.read(notificationId);
        if (known === undefined) throw new StorageTrouble(0, { reason: 'unknown notification' });
        return { kind: 'sent', id: notificationId, calls: callsOf(numbers, known) };
      }
      case 'created': {
        const { stored } = created;
        await driver.dialFirst(stored, log);
        if (stored.recipients.some(({ state }) => state === 'waiting')) {
          await Promise.race([due.run(log), sleep(DIALLED_WITHIN_MS)]);
        }
        return { kind: 'sent', id, calls: callsOf(numbers, driver.recall(id) ?? stored) };
      }
    }
  };

  return {
    send,
    read: async (id) => {
      const known = isStranger(id) ? undefined : await driver.read(id);
      return known && viewOf(known, clock.now());
    },
    newest: async (most) => (await store.newest(most)).map((known) => viewOf(known, clock.now())),
    stop: async (id, log) => {
      const known = isStranger(id) ? undefined : await driver.stop(id, log);
      return known && viewOf(known, clock.now());
    },
    handle: async (events, alertType, log) => {
      const end = clock.now() + NO_MORE_EVENTS_AFTER_MS;
      const byCall = Map.groupBy(events, ({ callId }) => callId);
      let left = 0;
      await pLimit(CALLS_AT_A_TIME).map(byCall.values(), async (ofOneCall) => {
        for (const event of ofOneCall) {
          if (clock.now() >= end) left += 1;
          else await handleSafely(driver, event, alertType, log);
        }
      });
      if (left > 0) log.error('callback events left', { events: left, reason: 'no time left' });
    },
    runDue: async (log) => due.run(log),
    settled: async () => due.settled(),
  };
};

/** A failure does not stop the other events. */
const handleSafely = async (driver: Driver, event: CallEvent, alertType: AlertType, log: Log): Promise<void> => {
  try {
    await driver.handle(event, alertType, log);
  } catch (error) {
    log.error('unexpected error', { call_id: event.callId, event_kind: event.kind, kind: errorKind(error) });
  }
};

const NOT_YET = 'not dialled yet';

const callsOf = (numbers: readonly PhoneNumber[], { recipients }: NotificationCase): readonly SentCall[] =>
  numbers.map((recipient, index) => callOf(recipient, recipients[index]));

/** The last call, or why there is none. A repeated request finds later states too. */
const callOf = (recipient: PhoneNumber, known: Recipient | undefined): SentCall => {
  const callId = known?.attempts.findLast((attempt) => attempt.callId !== undefined)?.callId;
  if (known?.state !== 'failed' && callId !== undefined) return { recipient, status: 'placed', callId };
  const isOver = known?.state === 'failed' || known?.state === 'not_reached' || known?.state === 'stopped';
  const reason = known?.reason ?? known?.attempts.at(-1)?.reason ?? (known?.state === 'stopped' ? 'stopped' : NOT_YET);
  return { recipient, status: isOver ? 'failed' : 'waiting', reason };
};
