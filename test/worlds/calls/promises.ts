import { isUrgent } from '../../../src/calls/model/alert-types.ts';
import { type CallId, isMessage, MESSAGE } from '../../../src/calls/model/ids.ts';
import type { Destination } from '../../../src/calls/model/outcomes.ts';
import { maskPhoneNumber } from '../../../src/calls/model/phone-number.ts';
import { callMessage, spokenText } from '../../../src/calls/rules/message.ts';
import type { NotificationRequest } from '../../../src/calls/model/notification-request.ts';
import type { NotificationBody, RecipientBody } from '../../../src/calls/state/view.ts';
import type { StoredRow } from '../../../src/storage/row.ts';
import { SERVICE_NAME } from './ground.ts';
import { MS_PER_CHARACTER, type NetworkCall, SPEAKS_WITHIN_MS } from './network.ts';
import { idOf, numbersOf, type SentRequest } from './senders.ts';
import type { Called, ServiceWorld, World } from './world.ts';

// The promises that hold at the end of every world. Each function returns the broken promises, a line each.

// The longest message, a claim that ran out, and a turn of the timer function.
const LONGEST_SILENCE_MS = 240_000;
const LONGEST_CALL_MS = 300_000;
// A delayed event, and the patience of an event for storage.
const SPOKEN_TO_WITHIN_MS = 18_000;
// Delayed events, and a turn of the timer function.
const RINGS_LONGER_MS = 35_000;
/** Clocks differ by that. */
const CLOCKS_MS = 2_000;
/** From a claim to its call. */
const CLAIMED_MS = 3_000;
// More requests would mean that an instance repeats a request without a pause.
const EFFORT_WITHIN_MS = 10_000;
const MOST_TABLE_REQUESTS = 400;
const MOST_PROVIDER_REQUESTS = 100;

/** The service shows less of a phone number outside. */
export const WHOLE_NUMBER = /\+\d{7}/;

export type Broken = readonly string[];
type AttemptBody = RecipientBody['attempts'][number];

/** The texts among them. */
export const those = (said: readonly (string | false)[]): Broken => said.filter((what) => what !== false);

/** All broken promises. */
export const brokenPromises = async (world: World): Promise<Broken> => [
  ...(await brokenToAll(world, brokenToRecipient)),
  ...world.network.calls.flatMap((call) => brokenOnLine(call, world)),
];

/** Judges a recipient, by its index in the request. */
type Judge<W extends ServiceWorld> = (body: RecipientBody, index: number, sent: SentRequest, world: W) => Broken;

/** The broken promises that need no look into the calls, and those to each recipient. */
export const brokenToAll = async <W extends ServiceWorld>(world: W, judge: Judge<W>): Promise<Broken> => {
  const { senders, mode } = world;
  const broken: string[] = [];
  for (const sent of senders.sent) {
    const isUnreadable = mode.poison === 'read' && idOf(sent) === world.poisoned;
    if (!isUnreadable) broken.push(...brokenToSender(sent, await world.viewOf(sent), world, judge));
  }
  return [
    ...broken,
    ...brokenInDialling(world),
    // Without the table, a process speaks without a commit.
    ...world.lateActs.flatMap(({ what, callId }) => (wasWithoutTable({ id: callId }, world) ? [] : what)),
    ...brokenAtOnce(world),
    ...(isAllKnown(world) ? brokenOrder(world) : []),
    ...brokenRows(world),
    ...brokenLogs(world),
    ...brokenEffort(world),
    ...mode.destinations.flatMap((to) => brokenEvents(to, world)),
  ];
};

/** In such a world the service may not know what was spoken, and says nothing wrong if it does not know. */
const isMuchUnknown = ({ mode }: ServiceWorld): boolean =>
  mode.eventLoss + mode.outages + mode.tableFaults + mode.deathsAtRequests + mode.suspensions + mode.closings > 0;

/** In such a world the service learns of everything. */
export const isAllKnown = (world: ServiceWorld): boolean => !isMuchUnknown(world) && world.mode.providerFaults === 0;

const brokenToSender = <W extends ServiceWorld>(
  sent: SentRequest,
  view: NotificationBody | undefined,
  world: W,
  judge: Judge<W>,
): Broken => {
  const { request, key, answers } = sent;
  const [first] = answers;
  if (first === undefined) return [`${key} was never answered`];
  const broken: string[] = [];
  const ids = new Set(answers.map((answer) => (answer.kind === 'sent' ? answer.id : answer.kind)));
  if (ids.size > 1) broken.push(`${key} was answered differently: ${[...ids].join()}`);
  const numbers = numbersOf(request);
  if (first.kind !== 'sent') {
    const isForbidden = numbers.every((number) => !number.startsWith('+1'));
    return first.kind === 'nobody callable' && isForbidden ? broken : [...broken, `${key}: ${first.kind}`];
  }
  if (view === undefined) return [...broken, `${key} was taken and is unknown`];
  if (view.status === 'in_progress') broken.push(`${key} is not over: ${JSON.stringify(view)}`);
  if (view.recipients.length !== numbers.length) return [...broken, `recipients are missing: ${JSON.stringify(view)}`];
  // Its calls are calls without a row.
  if (first.id === world.poisoned) return broken;
  broken.push(...brokenAlerts(first.id, view, request, world));
  const confirmed = view.recipients.filter(({ status }) => status === 'confirmed').length;
  if (request.confirm === true && view.reached !== confirmed) broken.push(`${view.reached} of ${confirmed} confirmed`);
  for (const [index, recipient] of view.recipients.entries())
    for (const what of judge(recipient, index, sent, world)) broken.push(`${what}: ${JSON.stringify(recipient)}`);
  return broken;
};

/** Each bad end is logged for the alert, even if processes die. */
const brokenAlerts = (
  id: string,
  { status, recipients }: NotificationBody,
  { waveMs, confirm, confirmationsNeeded = 1 }: NotificationRequest,
  { instances }: ServiceWorld,
): Broken => {
  const told = instances.logs.filter(({ fields }) => fields['notification_id'] === id);
  const isTold = (event: string, index?: number) =>
    told.some((line) => line.event === event && line.fields['recipient_index'] === index);
  const confirmed = recipients.filter((one) => one.status === 'confirmed').length;
  const isUnconfirmed = confirm === true && status === 'completed' && confirmed < confirmationsNeeded;
  return those([
    ...recipients.map(
      (one, index) =>
        waveMs === undefined &&
        BAD_ENDS.has(one.status) &&
        // The answer to the request says which numbers are never called.
        one.recipient.startsWith('+1') &&
        !isTold('recipient not reached', index) &&
        `no alert says that ${one.recipient} of ${id} was not reached`,
    ),
    isUnconfirmed && !isTold('notification not confirmed') && `no alert says that too few have confirmed ${id}`,
  ]);
};

const BAD_ENDS: ReadonlySet<string> = new Set(['not_reached', 'failed']);

/** No attempt is used, or the call never rang. */
const COSTS_NOTHING: ReadonlySet<string> = new Set(['turned away', 'no line', 'set-up']);

const brokenToRecipient = (
  { recipient, status, attempts }: RecipientBody,
  index: number,
  sent: SentRequest,
  world: World,
): Broken => {
  const { mode, network } = world;
  const { request, stop } = sent;
  const calls = network.calls.filter(
    ({ request: one }) => one?.attempt.notificationId === idOf(sent) && one?.attempt.index === index,
  );
  const whole = calls.flatMap((call) => call.speeches).filter(({ isWhole }) => isWhole).length;
  const keys = calls.flatMap((call) => call.keys);
  const isPressed = (key: string) => keys.some((one) => one.key === key);
  const isTaken = (key: string) => keys.some((one) => one.key === key && one.takenAt !== undefined);
  const rang = calls.filter((call) => !COSTS_NOTHING.has(call.fate));
  const outcomes = attempts.map(({ outcome }) => outcome);
  const declined = outcomes.filter((outcome) => outcome === 'declined').length;
  const confirm = request.confirm === true;
  const isForbidden = numbersOf(request).some(
    (number) => maskPhoneNumber(number) === recipient && !number.startsWith('+1'),
  );
  const isHopeless = isForbidden || calls.some(({ fate }) => fate === 'wrong number');
  const isMissed = status === 'not_reached';
  // If the service may not learn of the speech, the callee may hear it in each attempt.
  const mostHeard = isMuchUnknown(world) ? mode.attempts : 1;
  // With many lines, no recipient waits until the deadline: a poisoned notification must not delay the others.
  const isLate = mode.poison === undefined && hadNoTime(sent, index, world);
  const isGivenUp = attempts.length >= mode.attempts || declined >= 2 || isLate;
  return [
    ...those([
      calls.length > 0 && isForbidden && 'a forbidden number was called',
      status === 'heard' && confirm && 'heard where a key was asked for',
      status === 'heard' && !attempts.some((attempt) => isHeard(attempt, world)) && 'heard without a message',
      status === 'confirmed' && !confirm && 'confirmed, and no key was asked for',
      status === 'confirmed' && !outcomes.includes('confirmed') && 'confirmed without a key',
      status === 'stopped' && stop === undefined && request.waveMs === undefined && 'stopped by nobody',
      !confirm && whole > mostHeard && `heard ${whole} times`,
      !confirm && isAllKnown(world) && whole > 0 && isMissed && 'heard, and the service does not know',
      isTaken('1') && status !== 'confirmed' && 'a 1 was stored in vain',
      isTaken('3') && !isPressed('1') && status !== 'cannot_go' && 'a 3 was stored in vain',
      status === 'cannot_go' && !isPressed('3') && 'cannot go, and no 3 was pressed',
      attempts.length > mode.attempts && 'more attempts than allowed',
      rang.length > mode.attempts && mode.outages === 0 && 'called too often',
      isMissed && !isGivenUp && 'given up too early',
      status === 'failed' && !isHopeless && 'failed, though it could be reached',
    ]),
    ...attempts.flatMap((attempt) => brokenAttempt(attempt, confirm, world)),
  ];
};

/** Whether there was no time for another attempt. An instance that died in the moment has not logged it. */
export const hadNoTime = (sent: SentRequest, index: number, { instances, mode }: ServiceWorld): boolean => {
  const id = idOf(sent) ?? '';
  const told = instances.logs.filter(
    ({ event, fields }) =>
      event === 'recipient not reached' && fields['notification_id'] === id && fields['recipient_index'] === index,
  );
  return told.every(({ at }) => at >= createdAtOf(id) + mode.deadlineMs - mode.retryMs - 2 * CLOCKS_MS);
};

/** Whether the whole message or its first unit was spoken; or the service heard of the end much too late to tell. */
const isHeard = (
  { outcome, call_connection_id: callId, ended_at: toldAt = '' }: AttemptBody,
  { network }: World,
): boolean => {
  const call = network.calls.find(({ id }) => id === callId);
  if (outcome !== 'cut_short' || call === undefined) return outcome === 'heard';
  const isToldLate = call.endToldAt !== undefined && Date.parse(toldAt) - (call.endedAt ?? 0) > CLOCKS_MS;
  const hasUnit = call.speeches.some(
    ({ number, text, startedAt = Infinity, endedAt = 0 }) =>
      number === MESSAGE && endedAt - startedAt >= (text.length / 3) * MS_PER_CHARACTER,
  );
  return isToldLate || hasUnit;
};

/** A network without a free line has the codes of a callee who declines. */
const DECLINED: ReadonlySet<string> = new Set(['declines', 'declines by 603', 'turned away']);

/** An attempt says what became of its call. */
const brokenAttempt = (
  { outcome, call_connection_id: callId, reason }: AttemptBody,
  confirm: boolean,
  world: World,
): Broken => {
  const call = world.network.calls.find(({ id }) => id === callId);
  if (outcome === undefined) return ['an attempt without an outcome'];
  if (call === undefined) return outcome === 'unknown' || outcome === 'refused' ? [] : [`${outcome} without a call`];
  const { fate, keys, endedBy } = call;
  const spoken = call.speeches.filter(({ number, startedAt }) => isMessage(number) && startedAt !== undefined);
  const isWhole = spoken.some((speech) => speech.isWhole);
  const isPressed = (name: string) => keys.some((one) => one.key === name);
  const isRight: Readonly<Record<typeof outcome, boolean>> = {
    confirmed: confirm && isPressed('1'),
    cannot_go: confirm && isPressed('3'),
    heard: isWhole && !confirm,
    unconfirmed: isWhole && confirm,
    cut_short: spoken.length > 0 && (!isWhole || reason !== 'the callee hung up' || isMuchUnknown(world)),
    no_answer: fate === 'no answer' || fate === 'rings out' || endedBy === 'service' || isMuchUnknown(world),
    busy: fate === 'busy',
    declined: DECLINED.has(fate),
    refused: fate === 'wrong number',
    stopped: true,
    unknown: true,
  };
  return isRight[outcome] ? [] : [`${outcome} is not what became of ${call.id} (${fate})`];
};

const brokenOnLine = (call: NetworkCall, world: World): Broken => {
  const { id, request, state, fate, answeredAt, endedAt = world.now, placedAt, speeches } = call;
  const { mode, senders } = world;
  // If events get lost, and also the answer with its id, the service cannot end a call.
  if (mode.eventLoss > 0 && !isWrittenDown(id, world)) return [];
  const broken = [...those([state !== 'ended' && `${id} was never ended`])];
  const sent = senders.sent.find((one) => idOf(one) === request?.attempt.notificationId);
  const expected = request && callMessage(SERVICE_NAME, request.alertType, sent?.request);
  // Without the table, the message follows from the callback path.
  const isWithout = wasWithoutTable(call, world) || request?.attempt.notificationId === world.poisoned;
  for (const { number, text } of isWithout ? [] : speeches)
    if (expected !== undefined && text !== spokenText(number, expected)) broken.push(`${id} was told: ${text}`);
  if (answeredAt === undefined) {
    const rangMs = endedAt - placedAt;
    if (request !== undefined && isAllKnown(world) && !isWithout && rangMs > mode.ringMs + RINGS_LONGER_MS)
      broken.push(`${id} rang for ${rangMs} ms`);
    return broken;
  }
  const spokenUntil = speeches.map(
    ({ requestedAt, text, endedAt: ended }) => ended ?? requestedAt + SPEAKS_WITHIN_MS + text.length * MS_PER_CHARACTER,
  );
  const silentMs = endedAt - Math.max(answeredAt, ...spokenUntil);
  const lastsMs = endedAt - answeredAt;
  const waitedMs = (speeches[0]?.requestedAt ?? 0) - answeredAt;
  // If the goodbye cannot be said, the line is hung up at once.
  const isAnswered = call.keys.some(({ key, takenAt }) => (key === '1' || key === '3') && takenAt !== undefined);
  const isDone = isAnswered || speeches.some(({ isWhole }) => isWhole) || !isAllKnown(world);
  const isCut = speeches.some(({ number, cutBy }) => isMessage(number) && cutBy === 'service');
  const isStopped = sent?.stop !== undefined || sent?.request.waveMs !== undefined;
  return [
    ...broken,
    ...those([
      waitedMs > SPOKEN_TO_WITHIN_MS && isOnlyStorageBad(world) && `${id} was spoken to after ${waitedMs} ms`,
      lastsMs > LONGEST_CALL_MS && mode.outages === 0 && mode.eventLoss === 0 && `${id} took ${lastsMs} ms`,
      silentMs > LONGEST_SILENCE_MS && `${id} was silent for ${silentMs} ms`,
      isCut && !isDone && `${id} was hung up while being spoken to`,
      fate === 'listens' && !isDone && !isStopped && `${id} was answered and not spoken to`,
    ]),
  ];
};

/** Without other faults, a process that loses an answer of storage carries out its own commit: no callee waits for a lease. */
const isOnlyStorageBad = ({ mode }: World): boolean =>
  mode.providerFaults + mode.deathsAtRequests + mode.suspensions + mode.eventLoss + mode.outages + mode.closings === 0;

const isWrittenDown = (id: string, { rows }: World): boolean =>
  rows.some(({ properties }) => JSON.stringify(properties).includes(`\\"${id}\\"`));

/** Whether an instance heard of a call and could not use the table. */
const wasWithoutTable = ({ id }: { readonly id: CallId | undefined }, { instances }: ServiceWorld): boolean =>
  instances.logs.some(
    ({ event, fields }) => event === 'call records unreachable' && id !== undefined && fields['call_id'] === id,
  );

/** No recipient is dialed before the claim is committed, or after the deadline. */
const brokenInDialling = ({ mode, dialled }: ServiceWorld): Broken =>
  dialled.flatMap(({ notificationId, number, at, isStored }) =>
    those([
      !isStored && `${number} was dialed at ${at} before that was written down`,
      at > createdAtOf(notificationId) + mode.deadlineMs + CLOCKS_MS && `${number} was dialed after the deadline`,
    ]),
  );

/** The id of a notification begins with when it was made. */
const createdAtOf = (id: string): number => 2 ** 48 - 1 - Number.parseInt(id.slice(0, 12), 16);

/** The numbers that had two calls of the service at the same time. */
export const twoAtOnce = ({ placed }: Pick<ServiceWorld, 'placed'>): Broken =>
  placed.flatMap(({ call, others }) => (others.some(({ number }) => number === call.number) ? [call.number] : []));

/** No more calls are open than configured, and an alert that is not urgent leaves a line free, even during the call of a fire. */
const brokenAtOnce = (world: ServiceWorld): Broken => {
  const { callsAtOnce } = world.mode;
  const claims = [...world.claims];
  /** In which order the calls were claimed: a request may be sent much later. */
  const claimOf = ({ attemptId }: Called) => claims.indexOf(attemptId);
  return [
    ...twoAtOnce(world).map((number) => `two calls at once to ${number}`),
    ...world.placed.flatMap(({ call, others }) => {
      const before = others.filter((other) => claimOf(other) < claimOf(call));
      const isLast = !call.isUrgent && before.length >= Math.max(1, callsAtOnce - 1);
      return those([
        others.length >= callsAtOnce && `${others.length + 1} calls at once`,
        isLast && `a call that is not urgent took the last line`,
      ]);
    }),
  ];
};

/** No recipient is called again while another recipient of an alert that is as urgent waits for the first call. A stop and the deadline end a wait. */
const brokenOrder = ({ mode, senders, dialled, placed, poisoned }: ServiceWorld): Broken => {
  const attempts = new Set(placed.flatMap(({ call }) => (call.isAttempt ? call.attemptId : [])));
  const waiting = senders.sent.flatMap((sent) => {
    const id = idOf(sent);
    if (id === undefined || id === poisoned || sent.request.waveMs !== undefined) return [];
    const until = Math.min(sent.stop?.answeredAt ?? Infinity, createdAtOf(id) + mode.deadlineMs);
    return numbersOf(sent.request).flatMap((number, index) => {
      if (!number.startsWith('+1')) return [];
      const calledAt = dialled.find((dial) => dial.index === index && dial.notificationId === id)?.at ?? Infinity;
      const to = Math.min(until, calledAt) - CLAIMED_MS;
      return { number, isUrgent: isUrgent(sent.request.alertType.name), from: createdAtOf(id) + CLAIMED_MS, to };
    });
  });
  return dialled.flatMap((dial, nth) => {
    const isAgain = dialled
      .slice(0, nth)
      .some(
        ({ notificationId, index, attemptId }) =>
          notificationId === dial.notificationId &&
          index === dial.index &&
          attemptId !== dial.attemptId &&
          attempts.has(attemptId),
      );
    const passed = waiting.find((one) => one.isUrgent === dial.isUrgent && one.from < dial.at && dial.at < one.to);
    return those([
      isAgain && passed !== undefined && `${dial.number} was called again before ${passed.number} was called once`,
    ]);
  });
};

/** Something may still happen to a notification, or destinations do not know all of it. */
export const isLeftLive = ({ rowKey }: StoredRow, { poisoned, mode }: ServiceWorld): boolean => {
  // Its row is kept, and its outcomes cannot be published.
  if (mode.poison === 'read' && rowKey.includes(poisoned ?? '?')) return false;
  return /^(!live|out)\|/.test(rowKey);
};

const brokenRows = (world: ServiceWorld): Broken =>
  world.rows.flatMap((row) =>
    those([
      WHOLE_NUMBER.test(JSON.stringify(row.properties)) && `${row.rowKey} has a whole number`,
      isLeftLive(row, world) && `${row.rowKey} is left live`,
    ]),
  );

const brokenLogs = (world: ServiceWorld): Broken =>
  world.instances.logs.flatMap(({ event, fields }) => {
    // If nothing gets lost and no instance dies, each call request has an answer.
    const isSurprising = event === 'call request unclear' && isAllKnown(world);
    const isBroken = event === 'unexpected error' || isSurprising || WHOLE_NUMBER.test(JSON.stringify(fields));
    return those([isBroken && `logged: ${event} ${JSON.stringify(fields)}`]);
  });

const brokenEffort = ({ requests }: ServiceWorld): Broken =>
  [...Map.groupBy(requests, ({ at }) => Math.floor(at / EFFORT_WITHIN_MS)).values()].flatMap((some) => {
    const table = some.filter(({ to }) => to === 'table').length;
    const other = some.length - table;
    const isTooMuch = table > MOST_TABLE_REQUESTS || other > MOST_PROVIDER_REQUESTS;
    return those([isTooMuch && `${table} requests to storage and ${other} to the provider within ten seconds`]);
  });

/** Each end is published at least once, and once if nothing fails; a repeat has the same id and time. */
const brokenEvents = (to: Destination, { senders, mode, published, poisoned }: ServiceWorld): Broken => {
  const mayRepeat =
    mode.topicFaults > 0 ||
    mode.tableFaults > 0 ||
    mode.outages > 0 ||
    mode.deathsAtRequests > 0 ||
    mode.suspensions > 0;
  const byId = Map.groupBy(
    published.filter((event) => event.to === to),
    ({ id }) => id,
  );
  const broken = [...byId].flatMap(([id, events]) =>
    those([
      WHOLE_NUMBER.test(JSON.stringify(events)) && `published: a whole number in ${id}`,
      new Set(events.map(({ type, time }) => `${type} ${time}`)).size > 1 && `two events have the id ${id}`,
      events.length > 1 && !mayRepeat && `${id} was published twice to the ${to}`,
    ]),
  );
  const missing = senders.sent.flatMap((sent) => {
    const own = [...byId.values()].flatMap(([event]) => (event && event.subject === idOf(sent) ? event.type : []));
    const finals = own.filter((type) => type === 'Notification.RecipientFinal').length;
    const ends = own.filter((type) => type === 'Notification.Completed').length;
    // A recipient that turns out to have heard after all is published again.
    const isOnce = ends === 1 || (ends === 2 && mode.eventDelay > 0);
    const isLost = idOf(sent) === undefined || (idOf(sent) === poisoned && mode.poison === 'read');
    if (isLost || (finals >= numbersOf(sent.request).length && isOnce)) return [];
    return [`${finals} recipients and ${ends} ends of ${sent.key} were published to the ${to}`];
  });
  return [...broken, ...missing];
};
