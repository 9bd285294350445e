import { isUrgent } from '../../../src/calls/model/alert-types.ts';
import { isMessage, MESSAGE } from '../../../src/calls/model/ids.ts';
import { maskPhoneNumber } from '../../../src/calls/model/phone-number.ts';
import { callMessage, spokenText } from '../../../src/calls/rules/message.ts';
import { FREE_DECLINES } from '../../../src/calls/rules/queue.ts';
import type { NotificationBody, RecipientBody } from '../../../src/calls/state/view.ts';
import { LINES_KEY } from '../../../src/calls/store/rows.ts';
import type { StoredRow } from '../../../src/storage/row.ts';
import { BEGINNING, SERVICE_NAME } from './ground.ts';
import { MS_PER_CHARACTER, type NetworkCall, SPEAKS_WITHIN_MS, type Speech } from './network.ts';
import { brokenAcknowledgements, brokenAttention, brokenEvents } from './promises-to-operators.ts';
import { idOf, numbersOf, type SentRequest } from './senders.ts';
import { those, WHOLE_NUMBER } from './those.ts';
import type { World } from './world.ts';

// Until a line of which nothing is heard is looked after: the longest message, a claim that ran out, and a turn of the timer function.
const LONGEST_SILENCE_MS = 240_000;
// No call lasts longer.
const LONGEST_CALL_MS = 300_000;
// Clocks differ by that.
const CLOCKS_MS = 2_000;
// The service waits five seconds for the reason of an end, by the clocks of two instances; after that it says that it does not know.
const LONGEST_FOR_REASON_MS = 5_000 - CLOCKS_MS;
// Beyond that, something is asked for again and again without a pause.
const EFFORT_WITHIN_MS = 10_000;
const MOST_TABLE_REQUESTS = 400;
const MOST_LINE_REQUESTS = 100;
const DAY_MS = 86_400_000;

type AttemptBody = RecipientBody['attempts'][number];

/** What was promised and did not hold, a line each. */
export const brokenPromises = async (world: World): Promise<readonly string[]> => {
  const broken: string[] = [];
  for (const sent of world.senders.sent) broken.push(...brokenToSender(sent, await world.viewOf(sent), world));
  return [
    ...broken,
    ...world.network.calls.flatMap((call) => brokenOnLine(call, world)),
    ...brokenInDialling(world),
    ...(isAllKnown(world) ? twoAtOnce(world).map((number) => `two calls at once to ${number}`) : []),
    ...brokenDays(world),
    ...brokenRows(world),
    ...brokenLogs(world),
    ...brokenEvents(world),
    ...(await brokenAttention(world)),
    ...brokenEffort(world),
  ];
};

/** In such a world the service may not know what was spoken, and says nothing wrong if it does not know. */
const isMuchUnknown = ({ mode }: World): boolean =>
  mode.eventLoss > 0 || mode.outages > 0 || mode.tableFaults > 0 || mode.deathsAtRequests > 0 || mode.forgeries > 0;

/** In such a world the service learns of everything. */
const isAllKnown = (world: World): boolean => !isMuchUnknown(world) && world.mode.lineFaults === 0;

/** How often somebody may hear the whole message: once, and in each attempt if the service may not learn that it was spoken. */
const mostHeard = (world: World): number => (isMuchUnknown(world) ? world.mode.attempts : 1);

const brokenToSender = (sent: SentRequest, view: NotificationBody | undefined, world: World): readonly string[] => {
  const { request, key, answers, answersToAnother } = sent;
  const [first] = answers;
  if (first === undefined) return [`${key} was never answered`];
  const broken: string[] = [];
  const ids = new Set(answers.map((answer) => (answer.kind === 'sent' ? answer.id : answer.kind)));
  // A refusal is not kept: the next day has calls again.
  if (ids.difference(new Set(['refused'])).size > 1) broken.push(`${key} was answered differently: ${[...ids].join()}`);
  if (first.kind === 'sent' && answersToAnother.some(({ kind }) => kind !== 'key of another request')) {
    broken.push(`another request with ${key} was taken`);
  }
  if (first.kind !== 'sent') {
    const isForbidden = numbersOf(request).every((number) => !number.startsWith('+1'));
    const isLimited = world.mode.callsPerDay < 1_000;
    return first.kind === 'refused' && (isForbidden || isLimited) ? broken : [...broken, `${key}: ${first.kind}`];
  }
  if (view === undefined) return [...broken, `${key} was taken and is unknown`];
  if (view.status === 'in_progress') broken.push(`${key} is not over: ${JSON.stringify(view)}`);
  const numbers = numbersOf(request);
  if (view.recipients.length !== numbers.length) return [...broken, `recipients are missing: ${JSON.stringify(view)}`];
  broken.push(...brokenCount(sent, view, world), ...brokenAcknowledgements(sent, view, world));
  for (const [index, recipient] of view.recipients.entries()) {
    const number = numbers[index];
    const calls = world.network.calls.filter((call) => call.request?.number === number);
    for (const what of brokenToRecipient(recipient, calls, sent, { id: view.notification_id, index }, world)) {
      broken.push(`${what}: ${describe(recipient, calls)}`);
    }
  }
  return broken;
};

/** How many have confirmed is told, and too few are an error in the log. */
const brokenCount = (
  { request, stop }: SentRequest,
  view: NotificationBody,
  { instances, mode }: World,
): readonly string[] => {
  const confirmed = view.recipients.filter(({ status }) => status === 'confirmed').length;
  const told = instances.logs.some(
    ({ event, fields }) => event === 'notification not confirmed' && fields['notification_id'] === view.notification_id,
  );
  const isConfirmed = confirmed >= (request.confirmationsNeeded ?? 1);
  const confirm = request.confirm === true;
  return those([
    confirm && view.reached !== confirmed && `${view.reached} confirmations of ${confirmed}`,
    told && (!confirm || stop !== undefined) && view.status === 'stopped' && 'an error about what was stopped',
    // Whoever dies in the moment says nothing, nor does whoever does not learn that it was written.
    !told &&
      confirm &&
      !isConfirmed &&
      view.status === 'completed' &&
      mode.deathsAtRequests === 0 &&
      mode.tableFaults === 0 &&
      mode.outages === 0 &&
      'nobody was told that too few have confirmed',
  ]);
};

const describe = ({ recipient, status, attempts }: RecipientBody, calls: readonly NetworkCall[]): string => {
  const told = calls.map(({ id, fate, speeches, keys }) => {
    const parts = speeches.map(
      ({ number, isWhole, cutBy }) => `${number} ${isWhole ? 'whole' : `cut by ${cutBy ?? 'nobody'}`}`,
    );
    return `${id} ${fate} [${parts.join()}] ${JSON.stringify(keys)}`;
  });
  return `${recipient} ${status}; ${told.join(', ')}; ${JSON.stringify(attempts)}`;
};

/** A call that is declined beside others may have had no line: nobody can tell. */
const COSTS_NOTHING: ReadonlySet<string> = new Set(['turned away', 'no line', 'set-up', 'declines', 'declines by 603']);

const brokenToRecipient = (
  { recipient, status, attempts }: RecipientBody,
  calls: readonly NetworkCall[],
  { request, stop }: SentRequest,
  at: { readonly id: string; readonly index: number },
  world: World,
): readonly string[] => {
  const { mode } = world;
  const whole = calls.flatMap((call) => call.speeches).filter(({ isWhole }) => isWhole).length;
  const keys = calls.flatMap((call) => call.keys);
  const isPressed = (key: string) => keys.some((one) => one.key === key);
  const isTaken = (key: string) => keys.some((one) => one.key === key && one.takenAt !== undefined);
  const isForged = calls.some((call) => call.isForged);
  const rang = calls.filter((call) => !COSTS_NOTHING.has(call.fate));
  const outcomes = new Set(attempts.map(({ outcome }) => outcome));
  const confirm = request.confirm === true;
  const isForbidden = numbersOf(request).some(
    (number) => maskPhoneNumber(number) === recipient && !number.startsWith('+1'),
  );
  const isHeard = outcomes.has('heard') || attempts.some((attempt) => heardUnit(attempt, world));
  const isMissed = status === 'not_reached';
  return [
    ...those([
      calls.length > 0 && isForbidden && 'a forbidden number was called',
      status === 'heard' && confirm && 'heard where a key was asked for',
      status === 'heard' && !isHeard && 'heard without a message',
      status === 'confirmed' && !confirm && 'confirmed, and no key was asked for',
      status === 'confirmed' && !outcomes.has('confirmed') && 'confirmed without a key',
      status === 'stopped' && stop === undefined && request.waveMs === undefined && 'stopped by nobody',
      !confirm && whole > mostHeard(world) && `heard ${whole} times`,
      !confirm && isAllKnown(world) && whole > 0 && isMissed && 'heard, and the service does not know',
      isTaken('1') && status !== 'confirmed' && 'a 1 was stored in vain',
      isTaken('3') && !isPressed('1') && !isForged && status !== 'cannot_go' && 'a 3 was stored in vain',
      status === 'cannot_go' && !isPressed('3') && 'cannot go, and no 3 was pressed',
      usedBy(attempts) > mode.attempts && 'more attempts than allowed',
      rang.length > mode.attempts && mode.outages === 0 && 'called too often',
      isMissed && !isGivenUpWell(attempts, at, world) && 'given up too early',
      status === 'failed' && !isForbidden && !isHopeless(calls, world) && 'failed, though it could be reached',
    ]),
    ...attempts.flatMap((attempt) => brokenAttempt(attempt, confirm, world)),
  ];
};

/** The first two quick declines cost no attempt; from outside they may be any two. */
const usedBy = (attempts: readonly AttemptBody[]): number =>
  attempts.length - Math.min(FREE_DECLINES, attempts.filter(({ outcome }) => outcome === 'declined').length);

/** A number that does not exist, a policy, or the day's limit. */
const isHopeless = (calls: readonly NetworkCall[], { mode }: World): boolean =>
  calls.some(({ fate }) => fate === 'wrong number') || mode.callsPerDay < 1_000;

/** All attempts were made, somebody declined twice, or there was no time for another attempt. */
const isGivenUpWell = (
  attempts: readonly AttemptBody[],
  { id, index }: { readonly id: string; readonly index: number },
  { mode, instances }: World,
): boolean => {
  const declined = attempts.filter(({ outcome }) => outcome === 'declined').length;
  const told = instances.logs.filter(
    ({ event, fields }) =>
      event === 'recipient not reached' && fields['notification_id'] === id && fields['recipient_index'] === index,
  );
  const givenUpAt = Math.max(0, ...told.map(({ at }) => at));
  const hasNoTime = givenUpAt >= createdAtOf(id) + mode.deadlineMs - mode.retryMs - 2 * CLOCKS_MS;
  // Who died in the moment has not said when.
  return attempts.length >= mode.attempts || declined >= 2 || hasNoTime || told.length === 0;
};

const NO_ATTEMPT: ReadonlySet<string> = new Set(['no line', 'set-up']);
/** A network without a free line has the codes of a callee who declines. */
const DECLINED: ReadonlySet<string> = new Set(['declines', 'declines by 603', 'declines at once', 'turned away']);

const TOLD: ReadonlySet<string> = new Set(['busy', 'declines', 'wrong number', 'no answer']);

/** An attempt says what became of its call. */
const brokenAttempt = (attempt: AttemptBody, confirm: boolean, world: World): readonly string[] => {
  const { outcome, call_connection_id: callId } = attempt;
  const call = world.network.calls.find(({ id }) => id === callId);
  if (outcome === undefined) return ['an attempt without an outcome'];
  if (call === undefined) return outcome === 'unknown' || outcome === 'refused' ? [] : [`${outcome} without a call`];
  const { fate, keys, endedBy, isForged } = call;
  const speeches = call.speeches.filter(({ number }) => isMessage(number));
  const spoken = speeches.filter(({ startedAt }) => startedAt !== undefined);
  const isWhole = speeches.some((speech) => speech.isWhole);
  const isPressed = (name: string) => keys.some((one) => one.key === name);
  const spokenMs = Math.max(0, ...spoken.map(({ startedAt = 0, endedAt = 0 }) => endedAt - startedAt));
  const isReasonLate = (call.reasonKnownAt ?? Infinity) > (call.endedAt ?? 0) + LONGEST_FOR_REASON_MS;
  const isKept = NO_ATTEMPT.has(fate) && isAllKnown(world) && outcome !== 'declined' && !isReasonLate;
  if (isKept) return [`${call.id} (${fate}) is kept as an attempt`];
  const wrong = (what: string) => [`${what} is not what became of ${call.id} (${fate})`];
  switch (outcome) {
    case 'confirmed':
      return confirm && (isPressed('1') || isForged) ? [] : wrong(outcome);
    case 'cannot_go':
      return confirm && isPressed('3') ? [] : wrong(outcome);
    case 'heard':
      return isWhole && !confirm ? [] : wrong(outcome);
    case 'unconfirmed':
      return isWhole && confirm ? [] : wrong(outcome);
    case 'cut_short': {
      if (spoken.length === 0) return wrong(outcome);
      const isSure = attempt.reason === 'the callee hung up' && !isMuchUnknown(world);
      const wholeMs = Math.min(...spoken.map(({ text }) => text.length * MS_PER_CHARACTER));
      return isSure && spokenMs >= wholeMs ? wrong(outcome) : [];
    }
    case 'no_answer':
      return fate === 'no answer' || fate === 'rings out' || endedBy === 'service' || isMuchUnknown(world)
        ? []
        : wrong(outcome);
    case 'stopped':
      return call.hangUpAskedAt !== undefined || isMuchUnknown(world) ? [] : wrong(outcome);
    case 'busy':
      return fate === 'busy' ? [] : wrong(outcome);
    case 'declined':
      return DECLINED.has(fate) ? [] : wrong(outcome);
    case 'refused':
      return fate === 'wrong number' ? [] : wrong(outcome);
    case 'unknown': {
      // The reason of an end that was reported is known.
      const isTold = !isMuchUnknown(world) && !isForged && TOLD.has(fate) && !isReasonLate;
      return isTold && endedBy === 'network' ? wrong(outcome) : [];
    }
  }
};

/** Whether the first unit of the message was spoken. */
const hasUnit = ({ number, text, startedAt = Infinity, endedAt = 0 }: Speech): boolean =>
  number === MESSAGE && endedAt - startedAt >= (text.length / 3) * MS_PER_CHARACTER;

/** Whether a unit was spoken before somebody hung up; or the service heard of the end much too late to tell. */
const heardUnit = (
  { outcome, call_connection_id: callId, ended_at: toldAt = '' }: AttemptBody,
  { network }: World,
): boolean => {
  const call = network.calls.find(({ id }) => id === callId);
  if (outcome !== 'cut_short' || call === undefined) return false;
  const isToldLate = Date.parse(toldAt) - (call.endedAt ?? 0) > CLOCKS_MS;
  return isToldLate || call.speeches.some(hasUnit);
};

const brokenOnLine = (call: NetworkCall, world: World): readonly string[] => {
  const { id, request, state, fate, answeredAt, endedAt, placedAt, speeches, isForged, isKnown } = call;
  const { mode, now } = world;
  // If events get lost, nobody can end a call of which no true event came, and whose id, in the answer, was lost before it was written down.
  const isLost = (isForged === true || isKnown !== true) && !isWrittenDown(id, world);
  if (mode.eventLoss > 0 && isLost) return [];
  // Nothing is stored of a call of another system: if a request about it, its answer or its process is lost, nothing follows.
  if (request === undefined && (mode.lineFaults > 0 || mode.deathsAtRequests > 0)) return [];
  const broken: string[] = [];
  if (state !== 'ended') broken.push(`${id} was never ended`);
  const expected = request && callMessage(SERVICE_NAME, request.alertType, requestOf(call, world));
  // Without the table nobody knows more than the callback path says.
  for (const { number, text } of wasWithoutTable(call, world) ? [] : speeches) {
    if (expected !== undefined && text !== spokenText(number, expected)) broken.push(`${id} was told: ${text}`);
  }
  // If the goodbye cannot be said, the line is hung up at once.
  const isAnswered = call.keys.some(({ key, takenAt }) => (key === '1' || key === '3') && takenAt !== undefined);
  const isHeard = isAnswered || speeches.some(({ isWhole }) => isWhole);
  if (
    speeches.some(({ number, cutBy }) => isMessage(number) && cutBy === 'service') &&
    !isHeard &&
    !isForged &&
    !isSpeechUnclear(call, world)
  ) {
    broken.push(`${id} was hung up while being spoken to`);
  }
  if (answeredAt !== undefined) {
    const spokenUntil = speeches.map(
      ({ requestedAt, text, endedAt: ended }) =>
        ended ?? requestedAt + SPEAKS_WITHIN_MS + text.length * MS_PER_CHARACTER,
    );
    const silentMs = (endedAt ?? now) - Math.max(answeredAt, ...spokenUntil);
    const lastsMs = (endedAt ?? now) - answeredAt;
    if (lastsMs > LONGEST_CALL_MS && mode.outages === 0 && mode.eventLoss === 0)
      broken.push(`${id} took ${lastsMs} ms`);
    if (silentMs > LONGEST_SILENCE_MS) broken.push(`${id} was silent for ${silentMs} ms`);
    if (isAllKnown(world) && fate === 'listens' && !isHeard && !isForged && !wasStopped(call, world)) {
      broken.push(`${id} was answered and not spoken to`);
    }
  } else if (request !== undefined && endedAt !== undefined && isAllKnown(world)) {
    const rangMs = endedAt - placedAt;
    // Delayed events, and a turn of the timer function.
    if (rangMs > mode.ringMs + 35_000) broken.push(`${id} rang for ${rangMs} ms`);
  }
  return broken;
};

const isWrittenDown = (id: string, { rows }: World): boolean =>
  rows.some(({ properties }) => JSON.stringify(properties).includes(`\\"${id}\\"`));

/**
 * A message may be cut: the answer to the request to speak was lost, and nobody heard in time that it had started; the request for a repeat
 * failed, which ends the call; or storage was away, and is back.
 */
const isSpeechUnclear = (call: NetworkCall, world: World): boolean =>
  (call.isSpeechUnclear === true &&
    ((call.startKnownAt ?? Infinity) >= (call.hangUpAskedAt ?? 0) || call.speakRequests > 1)) ||
  wasWithoutTable(call, world);

/** Whether an instance heard of a call and could not use the table. */
const wasWithoutTable = ({ id }: NetworkCall, { instances }: World): boolean =>
  instances.logs.some(({ event, fields }) => event === 'call records unreachable' && fields['call_id'] === id);

const requestOf = ({ request }: NetworkCall, { senders }: World): SentRequest['request'] | undefined =>
  senders.sent.find((sent) => idOf(sent) === request?.attempt.notificationId)?.request;

const wasStopped = ({ request }: NetworkCall, { closings }: World): boolean =>
  request !== undefined && closings.has(request.attempt.notificationId);

/** Who is dialled, and when. */
const brokenInDialling = (world: World): readonly string[] => {
  const { mode, table, closings, senders, dialled, story } = world;
  const broken: string[] = [];
  for (const { attemptId, notificationId, number, at } of dialled) {
    const claim = table.claimOf(attemptId);
    if (claim === undefined || claim.at > at) {
      broken.push(`${number} was dialled at ${at} before that was written down`);
      continue;
    }
    const sent = senders.sent.find((one) => idOf(one) === notificationId);
    if (sent === undefined) continue;
    const closing = closings.get(notificationId);
    const isClosed = closing !== undefined && claim.number > closing.number;
    const isStopped = sent.stop?.answered !== undefined && claim.number > sent.stop.answered.number;
    if (isClosed || isStopped) broken.push(`${number} was dialled after a stop or enough confirmations`);
    if (mode.outages === 0 && mode.tableFaults === 0 && hasSaidNo(number, notificationId, claim.at, world)) {
      broken.push(`${number} was dialled after a 3`);
    }
    const createdAt = createdAtOf(notificationId);
    if (at > createdAt + mode.deadlineMs + CLOCKS_MS) broken.push(`${number} was dialled after the deadline`);
    const wave = sent.request.waves.findIndex((one) => one.some((callee) => callee.number === number));
    const waited = wave - wavesOver(sent, wave, claim.at, world);
    // By the clock of the instance that took the request, and by those of two that open waves.
    if (claim.at < createdAt + waited * (sent.request.waveMs ?? 0) - 1.5 * CLOCKS_MS) {
      broken.push(`${number} of wave ${wave + 1} was dialled too early`);
    }
  }
  if (broken.length > 0) story.tell(() => broken.join('\n'));
  return broken;
};

/** Whether the service knew at a time that somebody cannot go. */
const hasSaidNo = (number: string, id: string, at: number, { network }: World): boolean =>
  network.calls.some(
    ({ request, keys }) =>
      request?.number === number &&
      request.attempt.notificationId === id &&
      keys.some(({ key, takenAt = Infinity }) => key === '3' && takenAt < at),
  );

/** After how many of the waves before those up to there could not be enough any more: who confirms, or is called later, could be reached. */
const wavesOver = ({ request }: SentRequest, wave: number, at: number, { dialled, network }: World): number => {
  const reachable = new Set<string>(dialled.flatMap((dial) => (dial.at > at + CLOCKS_MS ? dial.number : [])));
  for (const { keys, request: call } of network.calls) {
    if (call !== undefined && keys.some(({ key }) => key === '1')) reachable.add(call.number);
  }
  const isOver = (index: number) =>
    request.waves
      .slice(0, index + 1)
      .flat()
      .filter(({ number }) => reachable.has(number)).length < (request.confirmationsNeeded ?? 1);
  return request.waves.slice(0, Math.max(0, wave)).filter((_, index) => isOver(index)).length;
};

/** The numbers that had two calls of the service at the same time. */
export const twoAtOnce = ({ network }: Pick<World, 'network'>): readonly string[] => {
  const calls = network.calls.filter(({ fate }) => fate !== 'turned away');
  return calls.flatMap(({ request, placedAt }, at) => {
    const isUnder = calls
      .slice(0, at)
      .some((one) => one.request?.number === request?.number && placedAt < (one.endedAt ?? Infinity));
    return request !== undefined && isUnder ? [request.number] : [];
  });
};

/** The id of a notification begins with when it was made. */
const createdAtOf = (id: string): number => 2 ** 48 - 1 - Number.parseInt(id.slice(0, 12), 16);

/** Calls that were refused because no line was free use no call of the day. */
const brokenDays = ({ mode, network }: World): readonly string[] =>
  [0, 1].flatMap((day) => {
    const from = Math.floor(BEGINNING / DAY_MS) * DAY_MS + day * DAY_MS;
    const calls = network.calls.filter(
      ({ request, placedAt, fate }) =>
        request !== undefined &&
        placedAt >= from + CLOCKS_MS &&
        placedAt < from + DAY_MS - CLOCKS_MS &&
        !COSTS_NOTHING.has(fate),
    );
    const usual = calls.filter(({ request }) => request !== undefined && !isUrgent(request.alertType.name));
    return those([
      calls.length > mode.callsPerDay && `${calls.length} calls on day ${day}, ${mode.callsPerDay} allowed`,
      usual.length > Math.ceil(mode.callsPerDay * 0.8) && `${usual.length} calls on day ${day} that are not urgent`,
    ]);
  });

/** Something may still happen to a notification, or is to be told of it. */
export const isLeftLive = ({ rowKey, properties }: StoredRow): boolean =>
  rowKey !== LINES_KEY && (properties['live'] === 'yes' || properties['told'] === 'no');

const brokenRows = ({ rows }: World): readonly string[] =>
  rows.flatMap((row) =>
    those([
      WHOLE_NUMBER.test(JSON.stringify(row.properties)) && `${row.rowKey} has a whole number`,
      isLeftLive(row) && `${row.rowKey} is left live`,
    ]),
  );

const brokenLogs = (world: World): readonly string[] =>
  world.instances.logs.flatMap(({ event, fields }) => {
    // Where nothing gets lost and nobody dies, no call request is lost sight of.
    const isSurprising = event === 'call request unclear' && isAllKnown(world);
    const isBroken = event === 'unexpected error' || isSurprising || WHOLE_NUMBER.test(JSON.stringify(fields));
    return those([isBroken && `logged: ${event} ${JSON.stringify(fields)}`]);
  });

const brokenEffort = ({ requests }: World): readonly string[] => {
  const atOnce = [...Map.groupBy(requests, ({ at }) => Math.floor(at / EFFORT_WITHIN_MS)).values()];
  return atOnce.flatMap((some) => {
    const table = some.filter(({ to }) => to === 'table').length;
    const line = some.length - table;
    const isTooMuch = table > MOST_TABLE_REQUESTS || line > MOST_LINE_REQUESTS;
    return isTooMuch ? [`${table} requests to storage and ${line} to the line within ten seconds`] : [];
  });
};
