import type { NotificationView } from '../../../src/calls/notifications.ts';
import type { StoredRow } from '../../../src/calls/store/rows.ts';
import type { LogLine } from './instances.ts';
import type { Mode } from './modes.ts';
import { type NetworkCall, SPEAKING_MS, SPEAKS_WITHIN_MS } from './network.ts';
import type { SentRequest } from './senders.ts';

/** What is left when everything has come to its end. */
export interface Aftermath {
  readonly mode: Mode;
  /** With the notification as the service answers it; undefined where no living instance knows it. */
  readonly requests: readonly { readonly sent: SentRequest; readonly view: NotificationView | undefined }[];
  readonly calls: readonly NetworkCall[];
  /** Those of notifications, days and due work. */
  readonly rows: readonly StoredRow[];
  readonly logs: readonly LogLine[];
  readonly rowRequests: number;
  readonly lineRequests: number;
  /** The UTC day on which the world began. */
  readonly firstDay: string;
  /** In milliseconds since 1970. */
  readonly now: number;
}

// Until a line of which nothing is heard is looked after, and its hang-up is tried again after a failure.
const LONGEST_SILENCE_MS = 190_000;
// Beyond that, something is asked for again and again without a pause.
const MOST_ROW_REQUESTS = 12_000;
const MOST_LINE_REQUESTS = 3_000;
const WHOLE_NUMBER = /\+\d{7}/;

/** What was promised and did not hold, a line each. */
export const brokenPromises = (aftermath: Aftermath): readonly string[] => [
  ...aftermath.requests.flatMap((request) => brokenToSender(request, aftermath)),
  ...aftermath.calls.flatMap((call) => brokenToLine(call, aftermath)),
  ...aftermath.rows.flatMap(brokenByRow),
  ...brokenDay(aftermath),
  ...aftermath.logs.flatMap(brokenByLog),
  ...brokenEffort(aftermath),
];

const brokenToSender = (
  { sent: { answer, numbers }, view }: Aftermath['requests'][number],
  { mode, calls }: Aftermath,
): readonly string[] => {
  if (answer === 'none yet') return ['a request was never answered'];
  if (answer === 'rejected') return [];
  // While the table cannot be used, a notification is in the memory of one process, which may die.
  if (view === undefined) return mode.outages > 0 ? [] : [`notification ${answer} is unknown`];
  return [
    ...(view.status === 'completed' ? [] : [`not completed: ${JSON.stringify(view)}`]),
    ...(view.recipients.length === numbers.length ? [] : [`recipients are missing: ${JSON.stringify(view)}`]),
    ...view.recipients.flatMap((recipient, index) =>
      brokenToRecipient(
        recipient,
        calls.filter(({ request }) => request.number === numbers[index]),
        mode,
      ),
    ),
  ];
};

const brokenToRecipient = (
  { recipient, status, attempts }: NotificationView['recipients'][number],
  calls: readonly NetworkCall[],
  mode: Mode,
): readonly string[] => {
  const speeches = calls.flatMap((call) => call.speeches);
  const whole = speeches.filter(({ isWhole }) => isWhole).length;
  const cut = speeches.filter(({ cutBy }) => cutBy === 'service').length;
  const isHeard = status === 'heard';
  const isStorageUp = mode.outages === 0;
  // A lost event, or a lost row, leaves unknown what was spoken. Then somebody rather hears twice than never.
  const isEverythingKnown = mode.rowFault === 0 && mode.eventLoss === 0 && isStorageUp;
  const counted = attempts.filter(({ isLost }) => isLost !== true).length;
  const broken = [
    isEverythingKnown && whole > 1 && 'heard twice',
    isEverythingKnown && cut > 0 && 'cut short by the service',
    isStorageUp && mode.eventLoss === 0 && whole > 0 && !isHeard && 'heard, and the service does not know',
    isHeard && speeches.length === 0 && 'heard without a message',
    // One more where an attempt that counted as lost turns up.
    (counted > mode.attempts + 1 || calls.length > 2 * mode.attempts + 8) && 'called too often',
  ];
  const facts = `${recipient} ${status}, ${whole} whole, ${cut} cut, ${calls.map(({ id, fate }) => `${id} ${fate}`).join()}`;
  return broken.flatMap((what) => (what === false ? [] : `${what}: ${facts} ${JSON.stringify(attempts)}`));
};

const brokenToLine = (call: NetworkCall, aftermath: Aftermath): readonly string[] => {
  const { id, state, answeredAt, endedAt, speeches } = call;
  if (isUnknowable(call, aftermath)) return [];
  if (state !== 'ended') return [`${id} was never ended`];
  if (answeredAt === undefined) return [];
  const spokenUntil = speeches.map(({ requestedAt }) => requestedAt + SPEAKS_WITHIN_MS + SPEAKING_MS);
  const silentMs = (endedAt ?? aftermath.now) - Math.max(answeredAt, ...spokenUntil);
  return silentMs > LONGEST_SILENCE_MS ? [`${id} was silent for ${silentMs} ms`] : [];
};

/**
 * Where events get lost, nobody can end a call of which every answer and event was lost, nor one whose notification was only in the
 * memory of a process that has died.
 */
const isUnknowable = ({ request, isKnown }: NetworkCall, { mode, requests, rows }: Aftermath): boolean => {
  if (mode.eventLoss === 0) return false;
  const id = request.attempt.notificationId;
  const isRemembered = requests.some(({ view }) => view?.id === id) || rows.some(({ rowKey }) => rowKey.includes(id));
  return !isKnown || (mode.outages > 0 && !isRemembered);
};

const brokenByRow = ({ rowKey, values }: StoredRow): readonly string[] => [
  ...(WHOLE_NUMBER.test(JSON.stringify(values)) ? [`${rowKey} has a whole number`] : []),
  ...(rowKey.startsWith('due|') && !rowKey.includes('|expired_') ? [`${rowKey} is left due`] : []),
];

/** Calls that were refused for want of a line use no call of the day. */
const brokenDay = ({ mode, calls, rows, firstDay }: Aftermath): readonly string[] => {
  // A notification that is only in memory counts its calls only there.
  if (mode.outages > 0) return [];
  const counted = rows.find(({ rowKey }) => rowKey === `day|${firstDay}`)?.values['calls'];
  const nextDay = Date.parse(firstDay) + 86_400_000;
  const placed = new Set(
    calls
      .filter(({ fate, placedAt }) => fate !== 'throttled' && placedAt < nextDay)
      .map(({ request }) => request.attempt.attemptId),
  ).size;
  if (counted === undefined) return placed > 0 ? [`${placed} calls of the day, and none is counted`] : [];
  return typeof counted === 'number' && placed <= counted && counted <= mode.callsPerDay
    ? []
    : [`${placed} calls of the day, ${JSON.stringify(counted)} counted, ${mode.callsPerDay} allowed`];
};

const brokenByLog = ({ event, fields }: LogLine): readonly string[] =>
  event === 'unexpected error' || WHOLE_NUMBER.test(JSON.stringify(fields))
    ? [`logged: ${event} ${JSON.stringify(fields)}`]
    : [];

const brokenEffort = ({ rowRequests, lineRequests }: Aftermath): readonly string[] =>
  rowRequests > MOST_ROW_REQUESTS || lineRequests > MOST_LINE_REQUESTS
    ? [`${rowRequests} requests to storage and ${lineRequests} to the line`]
    : [];
