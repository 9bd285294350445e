import { isUrgent } from '../model/alert-types.ts';
import { sleepBy } from '../model/clock.ts';
import { newNotificationId, type NotificationId } from '../model/ids.ts';
import type { FailedCode, NotificationRequest, Sent, SentCall } from '../model/notification-request.ts';
import type { PhoneNumber } from '../model/phone-number.ts';
import { type KeyUse, keyUse } from '../rules/idempotency.ts';
import { CALLS_USED_UP, callsLeft, endOfDay, NOT_CALLABLE, type NotCallable } from '../rules/policy.ts';
import { heldNow, next } from '../rules/queue.ts';
import { type Cases, type Context, pauseAfterConflict } from './cases.ts';
import type { Driver } from './driver.ts';
import type { DueWork } from './due.ts';
import { newNotification, type NotificationCase } from '../state/notification.ts';
import { isFinal } from '../state/recipient.ts';
import { commandsOf, queueOf, step, withNews } from '../state/step.ts';
import { isoTime, type RecipientBody } from '../state/view.ts';
import type { Snapshot, StoredCase } from '../store/notification-store.ts';
import type { IdempotencyRow } from '../store/rows.ts';
import type { Log } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';

interface Creation {
  readonly id: NotificationId;
  /** Milliseconds since 1970. */
  readonly requestedAt: number;
  readonly attemptId: string;
  readonly request: NotificationRequest;
  readonly use: KeyUse | undefined;
}

type Created =
  | { readonly kind: 'created'; readonly stored: StoredCase }
  | { readonly kind: 'key used'; readonly earlier: IdempotencyRow }
  | { readonly kind: 'refused'; readonly known: NotificationCase };

/** How long a request waits for storage. */
const WRITTEN_WITHIN_MS = 8_000;
const PAUSE_MS = 300;
const MOST_CONFLICTS = 30;
/** How long the answer to a request waits for its calls to be placed. */
const DIALED_WITHIN_MS = 8_000;

/** Handles requests: stores the notification with its key and the claim of its first call, and then dials. */
export const createSend = (context: Context, cases: Cases, driver: Driver, due: DueWork) => {
  const { store, policy, clock, newId, destinations } = context;

  /** Sends the call request of the first recipient, if it was claimed, and looks for the others. */
  const dialFirst = async (stored: StoredCase, log: Log): Promise<void> => {
    cases.created(stored);
    const commands = commandsOf(undefined, stored, policy.line);
    const isMore =
      stored.recipients.some(({ state }) => state === 'waiting') || stored.notification.nextWaveAt !== undefined;
    const dialing = async (): Promise<void> => {
      const first = driver.carryOut({ stored, commands }, log);
      if (isMore) await due.look(log);
      await first;
      await due.settled();
    };
    await Promise.race([dialing(), sleepBy(clock, DIALED_WITHIN_MS)]);
  };

  /** Retries after conflicts and some seconds of trouble. A retry recognizes an earlier try that was carried out. */
  const create = async (creation: Creation): Promise<Created> => {
    const until = clock.now() + WRITTEN_WITHIN_MS;
    for (let tried = 1; ; tried += 1) {
      try {
        return await createOnce(creation, tried === 1);
      } catch (error) {
        if (error instanceof WriteConflict && tried <= MOST_CONFLICTS) {
          await pauseAfterConflict(context, tried);
        } else if (error instanceof StorageTrouble && clock.now() + PAUSE_MS <= until) {
          await sleepBy(clock, PAUSE_MS);
        } else throw error instanceof WriteConflict ? new StorageTrouble(0, { reason: 'contended' }) : error;
      }
    }
  };

  /** Most keys are new: the first try inserts without a read, to save requests. */
  const createOnce = async (
    { id, requestedAt, attemptId, request, use }: Creation,
    isFirst: boolean,
  ): Promise<Created> => {
    const found = isFirst ? undefined : await store.load(id);
    if (found !== undefined) return { kind: 'created', stored: found };
    const used = isFirst || use === undefined ? {} : await store.readKey(use, clock.now());
    if (used.earlier !== undefined) return { kind: 'key used', earlier: used.earlier };
    const now = clock.now();
    const snapshot = await store.look(now);
    const { lines, etag } = snapshot;
    const isOverDayLimit = callsLeft(lines.day, policy.rules.callsPerDay, isUrgent(request.alertType.name), now) === 0;
    // From the request on, so that a late answer of storage does not move the deadline.
    const facts = { id, keyHash: use?.keyHash, isOverDayLimit, rules: policy.rules };
    const made = newNotification(request, facts, requestedAt);
    if (made.recipients.every(isFinal)) {
      const earlier = use && (await store.readKey(use, now)).earlier;
      return earlier === undefined ? { kind: 'refused', known: made } : { kind: 'key used', earlier };
    }
    const claimed = withClaim(made, attemptId, snapshot, now);
    const after = withNews(undefined, claimed.case, destinations, now);
    const shared = claimed.lines === lines ? undefined : { lines: claimed.lines, etag };
    const { stored, linesEtag } = await store.create(after, use && { ...use, etag: used.etag }, shared, now);
    if (shared !== undefined) cases.learn({ lines: shared.lines, etag: linesEtag });
    return { kind: 'created', stored };
  };

  /** A new notification, with the claim of its first call if that is next in the queue. */
  const withClaim = (made: NotificationCase, attemptId: string, { live, lines }: Snapshot, now: number) => {
    const own = queueOf(made);
    const open = cases.openCalls({ live });
    const decided = next([...live.flatMap(queueOf), ...own], open, lines.queue, policy.rules, now);
    if (decided.kind !== 'dial' || !own.includes(decided.who)) return { case: made, lines };
    const { index } = decided.who;
    const claim = { kind: 'claim', index, attemptId, openThen: heldNow(open, now).length } as const;
    return step(made, claim, { policy, lines, open: [] }, now);
  };

  const callsOf = async (numbers: readonly PhoneNumber[], known: NotificationCase): Promise<readonly SentCall[]> => {
    const { recipients } = await due.describe(known);
    return numbers.map((recipient, index) => callOf(recipient, recipients[index]));
  };

  const logRefused = (calls: readonly SentCall[], { alertType }: NotificationRequest, log: Log): void => {
    const [first] = calls;
    const fields = { alert_type: alertType.name, recipients: calls.length };
    if (calls.some((call) => call.status === 'failed' && call.code === 'day_limit')) {
      log.error('day limit reached', { ...fields, until: isoTime(endOfDay(clock.now())) });
    }
    const reason = first === undefined || first.status === 'placed' ? undefined : first.reason;
    log.error('notification refused', { ...fields, reason });
  };

  return async (request: NotificationRequest, key: string | undefined, log: Log): Promise<Sent> => {
    const { waves, waveMs = 0 } = request;
    if ((waves.length - 1) * waveMs >= policy.rules.deadlineMs) return { kind: 'waves too late' };
    const numbers = waves.flat().map(({ number }) => number);
    const requestedAt = clock.now();
    const id = newNotificationId(requestedAt, newId());
    const use = key === undefined ? undefined : keyUse(key, request);
    const created = await create({ id, requestedAt, attemptId: newId(), request, use });
    switch (created.kind) {
      case 'refused': {
        const calls = await callsOf(numbers, created.known);
        logRefused(calls, request, log);
        return { kind: 'refused', calls };
      }
      case 'key used': {
        const { notificationId, fingerprint } = created.earlier;
        if (fingerprint !== use?.fingerprint) return { kind: 'key of another request' };
        const known = await store.load(notificationId);
        if (known === undefined) throw new StorageTrouble(0, { reason: 'unknown notification' });
        return { kind: 'sent', id: notificationId, calls: await callsOf(numbers, known) };
      }
      case 'created': {
        await dialFirst(created.stored, log);
        return { kind: 'sent', id, calls: await callsOf(numbers, store.recall(id) ?? created.stored) };
      }
    }
  };
};

const OVER: ReadonlySet<string | undefined> = new Set(['failed', 'not_reached', 'stopped']);

/** The last call, or why there is no call. A repeated request finds later states too. */
const callOf = (recipient: PhoneNumber, body: RecipientBody | undefined): SentCall => {
  const callId = body?.attempts.findLast((one) => one.call_connection_id !== undefined)?.call_connection_id;
  if (body?.status !== 'failed' && callId !== undefined) return { recipient, status: 'placed', callId };
  if (body?.status === 'waiting' && body.code !== undefined && body.reason !== undefined) {
    return { recipient, status: 'waiting', code: body.code, reason: body.reason, since: Date.parse(body.since ?? '') };
  }
  const last = body?.attempts.at(-1)?.reason;
  const reason = OVER.has(body?.status) ? (last ?? body?.status ?? '') : 'is being dialed';
  return { recipient, status: 'failed', code: failedCode(reason), reason };
};

const failedCode = (reason: string): FailedCode => {
  if (reason === CALLS_USED_UP) return 'day_limit';
  const codes: readonly NotCallable[] = ['impossible_number', 'not_allowed'];
  return codes.find((code) => NOT_CALLABLE[code] === reason) ?? 'refused';
};
