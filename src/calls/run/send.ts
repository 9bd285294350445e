import { isUrgent } from '../model/alert-types.ts';
import { sleepBy } from '../model/clock.ts';
import { newNotificationId, type NotificationId } from '../model/ids.ts';
import type { FailedCode, NotificationRequest, Sent, SentCall } from '../model/notification-request.ts';
import type { PhoneNumber } from '../model/phone-number.ts';
import { keyUse } from '../rules/idempotency.ts';
import { CALLS_USED_UP, callsLeft, endOfDay, NOT_CALLABLE, type NotCallable } from '../rules/policy.ts';
import { heldNow, next } from '../rules/queue.ts';
import type { Cases, Context } from './cases.ts';
import type { Driver } from './driver.ts';
import type { DueWork } from './due.ts';
import { type Lines, queueOf } from '../state/lines.ts';
import { newNotification, type NotificationCase } from '../state/notification.ts';
import { withNews } from '../state/outbox.ts';
import { isFinal, type Recipient } from '../state/recipient.ts';
import { commandsOf, limitsOf, step } from '../state/step.ts';
import { isoTime, type RecipientBody } from '../state/view.ts';
import type { StoredCase } from '../store/notification-store.ts';
import type { IdempotencyRow } from '../store/rows.ts';
import type { Log } from '../../log.ts';
import { StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import { backoffMs } from '../../storage/table.ts';

/** What became of the wish to create a notification. */
type Created =
  | { readonly kind: 'created'; readonly stored: StoredCase }
  /** Its key was used in the last 24 hours. */
  | { readonly kind: 'key used'; readonly earlier: IdempotencyRow }
  /** No recipient may be called. */
  | { readonly kind: 'refused'; readonly known: NotificationCase };

/** Some seconds of outage are waited for. */
const WRITTEN_WITHIN_MS = 8_000;
const PAUSE_MS = 300;
const MOST_CONFLICTS = 30;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 400;
/** The answer to a request waits no longer for calls to be placed. */
const DIALED_WITHIN_MS = 8_000;

/** From a request to the calls: the notification is stored first, with its key and, if it is next, with the claim of its first call. */
export class Sending {
  readonly #context: Context;
  readonly #cases: Cases;
  readonly #driver: Driver;
  readonly #due: DueWork;

  constructor(context: Context, cases: Cases, driver: Driver, due: DueWork) {
    this.#context = context;
    this.#cases = cases;
    this.#driver = driver;
    this.#due = due;
  }

  /** Stores a notification and dials its recipients; see `Phone.send`. @throws {StorageTrouble} */
  async send(request: NotificationRequest, key: string | undefined, log: Log): Promise<Sent> {
    const { policy, clock, newId, store } = this.#context;
    const { waves, waveMs = 0, alertType } = request;
    if ((waves.length - 1) * waveMs >= policy.rules.deadlineMs) return { kind: 'waves too late' };
    const numbers = waves.flat().map(({ number }) => number);
    const id = newNotificationId(clock.now(), newId());
    const created = await this.#create(id, request, key);
    switch (created.kind) {
      case 'refused': {
        const calls = await this.#callsOf(numbers, created.known);
        if (calls.some((call) => call.status === 'failed' && call.code === 'day_limit')) {
          const until = isoTime(endOfDay(clock.now()));
          log.error('day limit reached', { alert_type: alertType.name, recipients: calls.length, until });
        }
        log.error('notification refused', {
          alert_type: alertType.name,
          recipients: calls.length,
          reason: reasonOf(calls[0]),
        });
        return { kind: 'refused', calls };
      }
      case 'key used': {
        const { notificationId, fingerprint } = created.earlier;
        if (key === undefined || fingerprint !== keyUse(key, request).fingerprint) {
          return { kind: 'key of another request' };
        }
        const known = await store.load(notificationId);
        if (known === undefined) throw new StorageTrouble(0, { reason: 'unknown notification' });
        return { kind: 'sent', id: notificationId, calls: await this.#callsOf(numbers, known) };
      }
      case 'created': {
        await this.#dialFirst(created.stored, log);
        return { kind: 'sent', id, calls: await this.#callsOf(numbers, store.recall(id) ?? created.stored) };
      }
    }
  }

  /** Sends the call request of the first recipient, if that was claimed, and has the others dialed. */
  async #dialFirst(stored: StoredCase, log: Log): Promise<void> {
    const { policy, clock } = this.#context;
    this.#cases.created(stored);
    const commands = commandsOf(undefined, stored, policy.line);
    const isMore =
      stored.recipients.some(({ state }) => state === 'waiting') || stored.notification.nextWaveAt !== undefined;
    const dialing = async (): Promise<void> => {
      const first = this.#driver.carryOut({ stored, commands }, log);
      if (isMore) await this.#due.look(log);
      await first;
      await this.#due.settled();
    };
    await Promise.race([dialing(), sleepBy(clock, DIALED_WITHIN_MS)]);
  }

  /** Conflicts and some seconds of trouble are waited for. A try that was carried out is found by the next one. */
  async #create(id: NotificationId, request: NotificationRequest, key: string | undefined): Promise<Created> {
    const { clock, random, newId } = this.#context;
    const attemptId = newId();
    const now = clock.now();
    for (let tried = 1; ; tried += 1) {
      try {
        return await this.#createOnce(id, attemptId, request, key, tried === 1);
      } catch (error) {
        if (error instanceof WriteConflict && tried <= MOST_CONFLICTS) {
          await sleepBy(clock, backoffMs(tried, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, random));
        } else if (error instanceof StorageTrouble && clock.now() + PAUSE_MS <= now + WRITTEN_WITHIN_MS) {
          await sleepBy(clock, PAUSE_MS);
        } else throw error instanceof WriteConflict ? new StorageTrouble(0, { reason: 'contended' }) : error;
      }
    }
  }

  /** @param isFirst nothing was tried yet. Most keys are new: inserting finds that out with the fewest requests */
  async #createOnce(
    id: NotificationId,
    attemptId: string,
    request: NotificationRequest,
    key: string | undefined,
    isFirst: boolean,
  ): Promise<Created> {
    const { store, clock, policy } = this.#context;
    const use = key === undefined ? undefined : keyUse(key, request);
    const found = isFirst ? undefined : await store.load(id);
    if (found !== undefined) return { kind: 'created', stored: found };
    const used = isFirst || use === undefined ? {} : await store.readKey(use, clock.now());
    if (used.earlier !== undefined) return { kind: 'key used', earlier: used.earlier };
    const now = clock.now();
    const { live, ...shared } = await store.look(now);
    const { callsPerDay } = policy.rules;
    const isOverDayLimit = callsLeft(shared.lines.day, callsPerDay, isUrgent(request.alertType.name), now) === 0;
    const made = newNotification(request, { id, keyHash: use?.keyHash, isOverDayLimit, rules: policy.rules }, now);
    if (made.recipients.every(isFinal)) {
      const earlier = use && (await store.readKey(use, now)).earlier;
      return earlier === undefined ? { kind: 'refused', known: made } : { kind: 'key used', earlier };
    }
    const claimed = this.#withClaim(made, attemptId, live, shared.lines, now);
    const after = withNews(undefined, claimed.case, this.#context.destinations, now);
    const isClaimed = claimed.lines !== shared.lines;
    const changed = isClaimed ? { lines: claimed.lines, etag: shared.etag } : undefined;
    const { stored, linesEtag } = await store.create(after, use && { ...use, etag: used.etag }, changed, now);
    if (changed !== undefined) this.#cases.learn({ lines: changed.lines, etag: linesEtag });
    return { kind: 'created', stored };
  }

  /** A new notification, with the claim of its first call if that is next. */
  #withClaim(made: NotificationCase, attemptId: string, live: readonly StoredCase[], lines: Lines, now: number) {
    const { policy } = this.#context;
    const own = queueOf(made);
    const open = this.#cases.openCalls({ live });
    const decided = next([...live.flatMap(queueOf), ...own], open, lines.queue, limitsOf(policy), now);
    const isOwn = decided.kind === 'dial' && own.includes(decided.who);
    if (!isOwn) return { case: made, lines };
    const openThen = heldNow(open, now).length;
    return step(
      made,
      { kind: 'claim', index: decided.who.index, attemptId, openThen },
      { policy, lines, open: [] },
      now,
    );
  }

  async #callsOf(numbers: readonly PhoneNumber[], known: NotificationCase): Promise<readonly SentCall[]> {
    const { recipients } = await this.#due.describe(known);
    return numbers.map((recipient, index) => callOf(recipient, known.recipients[index], recipients[index]));
  }
}

const reasonOf = (call: SentCall | undefined): string | undefined =>
  call === undefined || call.status === 'placed' ? undefined : call.reason;

const OVER: ReadonlySet<string | undefined> = new Set(['failed', 'not_reached', 'stopped']);

/** The last call, or why there is none. A repeated request finds later states too. */
const callOf = (recipient: PhoneNumber, known: Recipient | undefined, body: RecipientBody | undefined): SentCall => {
  const callId = known?.attempts.findLast(({ callIds }) => callIds.length > 0)?.callIds.at(-1);
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
